"""Source and sink of the tokens of a stream.

    source, sink = TokenSource(stream(dut, "val")), TokenSink(stream(dut, "val_o"), stalls(7))
    cocotb.start_soon(source.send("1 2 S0 D"))
    assert show_stream(await sink.receive_until_done()) == "3 D"

Timing:  without stalls a token moves in every cycle in which the other side allows it. Signals change after a rising edge of
         the clock and are read at the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import cocotb
from cocotb.triggers import Lock, RisingEdge

from ..hw.arch.errors import UserError
from ..hw.arch.token import DONE, parse_stream, show
from .stream import Stream, watch


class TokenSource:
    """Gives tokens to a stream that enters a component.

    Parameters
    ----------
    stream : Stream
    stalls : iterator of bool    Before each token, how often to wait for a cycle: see `stalls`; None, or when it has ended:
                                 back to back.
    """

    def __init__(self, stream: Stream, stalls: Iterator[bool] | None = None) -> None:
        self.stream, self._one, self._stalls = stream, Lock(), iter(()) if stalls is None else stalls
        stream.payload.set(0)
        stream.valid.set(0)

    async def send(self, tokens: str | Iterable[int]) -> None:
        """Give tokens, and return when the last was taken; what is sent meanwhile follows.

        tokens: a text such as ``"1 2 S0 D"``, or words as of `hw/arch/token.py`; UserError for others, before the first is
        given.
        """
        words, stream = _words(tokens, self.stream), self.stream
        async with self._one:
            for word in words:
                while next(self._stalls, False):
                    await RisingEdge(stream.clk)
                stream.payload.set(word)
                stream.valid.set(1)
                await RisingEdge(stream.clk)
                while not stream.ready.get():
                    await RisingEdge(stream.clk)
                stream.valid.set(0)


class TokenSink:
    """Takes tokens from a stream that leaves a component, and watches it.

    From the start, also while nothing is received, an offer that is withdrawn or changed before it was taken fails the test
    with a ProtocolError.

    Parameters
    ----------
    stream : Stream
    stalls : iterator of bool    In each cycle of `receive` whether to pause: see `stalls`; None, or when it has ended: always
                                 ready.
    """

    def __init__(self, stream: Stream, stalls: Iterator[bool] | None = None) -> None:
        self.stream, self._one, self._stalls = stream, Lock(), iter(()) if stalls is None else stalls
        stream.ready.set(0)
        cocotb.start_soon(watch(stream))

    async def receive(self, count: int) -> list[int]:
        """The next tokens, as words."""
        async with self._one:
            return [await self._next() for _ in range(count)]

    async def receive_until_done(self) -> list[int]:
        """The tokens up to the next done, and that one."""
        async with self._one:
            tokens = [await self._next()]
            while tokens[-1] != DONE:
                tokens.append(await self._next())
            return tokens

    async def _next(self) -> int:
        stream = self.stream
        while True:
            ready = not next(self._stalls, False)
            stream.ready.set(int(ready))
            await RisingEdge(stream.clk)
            token = stream.offered()
            stream.ready.set(0)
            if ready and token is not None:
                return token


def _words(tokens: str | Iterable[int], stream: Stream) -> list[int]:
    """Tokens as words; UserError for what is no token or does not fit."""
    words = parse_stream(tokens) if isinstance(tokens, str) else [int(each) for each in tokens]
    bits = stream.payload.bits
    for each in words:
        if not 0 <= each < 1 << bits:
            raise UserError(f"token {show(each) if each >= 0 else each} does not fit {bits} bits", f"stream {stream.name}",
                            f"give words 0..{(1 << bits) - 1}, or a text as '1 S0 D'")
    return words
