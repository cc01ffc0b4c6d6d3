// A simulated board behind its serial line: bytes on standard input and output become bits on its pins.
//
// Commands and answers are little-endian binary; `boards/simulation.py` is the other end.
//   W n bytes      send bytes; what the board sends meanwhile is kept
//   R n            run until n bytes were received since they were last asked for, or nothing comes for so long -> n, bytes
//   T              -> cycles simulated so far (64 bit)
// n is 32 bits wide. CYCLES_A_BIT and QUIET_CYCLES (when R gives up) come from the compiler's command line by line.h.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "Vtop.h"
#include "line.h"

static Vtop* top;
static uint64_t cycles = 0;
static std::vector<uint8_t> received;
static uint64_t last = 0;

// The host's side of the line from the board: as `boards/uart.py`, a bit is taken in its middle.
static void listen() {
    static int left = 0, timer = 0;
    static unsigned bits = 0;
    bool pin = top->board_tx & 1;
    if (!left) {
        if (!pin) left = 10, timer = CYCLES_A_BIT / 2, bits = 0;
    } else if (timer > 1) {
        --timer;
    } else {
        timer = CYCLES_A_BIT;
        bits |= unsigned(pin) << (10 - left);
        if (!--left) {
            if ((bits & 0x201) != 0x200) {
                fprintf(stderr, "cycle %llu: the board sent a frame without start or stop bit\n", (unsigned long long)cycles);
                exit(3);
            }
            received.push_back(bits >> 1);
            last = cycles;
        }
    }
}

static void tick() {
    top->board_clk = 1;
    top->eval();
    top->board_clk = 0;
    top->eval();
    ++cycles;
    listen();
}

static void bit(bool value) {
    top->board_rx = value;
    for (int i = 0; i < CYCLES_A_BIT; ++i) tick();
}

static uint32_t number() {
    uint32_t value;
    if (fread(&value, sizeof value, 1, stdin) != 1) exit(0);
    return value;
}

int main() {
    top = new Vtop;
    top->board_rx = 1;
    top->board_reset = 1;
    for (int i = 0; i < 16; ++i) tick();
    top->board_reset = 0;
    for (int i = 0; i < 16 * CYCLES_A_BIT; ++i) tick();
    received.clear();
    for (int command; (command = getchar()) != EOF;) {
        if (command == 'W') {
            std::vector<uint8_t> bytes(number());
            if (bytes.size() && fread(bytes.data(), bytes.size(), 1, stdin) != 1) exit(0);
            for (uint8_t byte : bytes) {
                bit(0);
                for (int i = 0; i < 8; ++i) bit(byte >> i & 1);
                bit(1);
            }
        } else if (command == 'R') {
            uint32_t count = number();
            last = cycles;
            while (received.size() < count && cycles - last < QUIET_CYCLES) tick();
            if (count > received.size()) count = received.size();
            fwrite(&count, sizeof count, 1, stdout);
            fwrite(received.data(), 1, count, stdout);
            received.erase(received.begin(), received.begin() + count);
        } else if (command == 'T') {
            fwrite(&cycles, sizeof cycles, 1, stdout);
        }
        fflush(stdout);
    }
    return 0;
}
