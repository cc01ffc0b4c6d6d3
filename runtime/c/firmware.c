/* What the processor does: the commands of a plan, page by page out of memory outside, then a report there. */
#include "firmware.h"

/* The system DMA moves words of 8 bytes. */
_Static_assert(PAGE_BYTES % 8u == 0 && NOTE_BYTES % 8u == 0, "pages and notes are moved");
_Static_assert(sizeof(struct report) == REPORT_BYTES, "a report is as runtime/report.py reads it");

/* Directions of the system DMA. */
enum way { IN, OUT };

/* What the system DMA reads or writes is volatile. In each half is a page, and what its commands have noted. */
static _Alignas(8) volatile uint32_t pages[2][PAGE_WORDS];
static _Alignas(8) volatile uint32_t notes[2][NOTE_WORDS];
static _Alignas(8) volatile struct report report;

/* How many transfers were asked for, each way. */
static uint32_t asked[2];
/* Words that the GLB tiles had stored when they were counted. */
static uint32_t counts[SARDONYX_GLB_TILES];

static volatile uint32_t *host(uint32_t offset) { return (volatile uint32_t *)(SARDONYX_HOST + offset); }

static volatile uint32_t *machine(uint32_t address) { return (volatile uint32_t *)(SARDONYX_MACHINE + address); }

/* Writes a register, given its address and its value. */
static inline void set(const volatile uint32_t *words) { *(volatile uint32_t *)words[0] = words[1]; }

/* Asks for a transfer; its number among those of its way. */
static inline uint32_t move(enum way way, uint32_t from, uint32_t to, uint32_t bytes)
{
    *host(SARDONYX_HOST_MOVE_FROM) = from;
    *host(SARDONYX_HOST_MOVE_TO) = to;
    *host(way == IN ? SARDONYX_HOST_MOVE_IN : SARDONYX_HOST_MOVE_OUT) = bytes;
    return ++asked[way];
}

/* Waits until the transfers of a way up to one have ended, which they do in order. */
static inline void wait_for_move(enum way way, uint32_t number)
{
    const uint32_t later = asked[way] - number;
    while ((*host(SARDONYX_HOST_MOVES) >> (way == IN ? SARDONYX_HOST_MOVES_IN_LSB : SARDONYX_HOST_MOVES_OUT_LSB)
            & SARDONYX_HOST_MOVES_IN_MASK) > later)
        ;
}

/* Instruction waitirq of PicoRV32: stands still until a line is high, and gives the lines. */
static uint32_t wait_for_interrupt(void)
{
    register uint32_t lines __asm__("a0");
    __asm__ volatile(".word 0x0800450b" : "=r"(lines));
    return lines;
}

static void print(const char *text)
{
    while (*text)
        *host(SARDONYX_HOST_SERIAL) = (uint8_t)*text++;
}

static void print_number(uint32_t number)
{
    char digits[11], *first = digits + sizeof digits - 1;
    *first = 0;
    do
        *--first = (char)('0' + number % 10u);
    while (number /= 10u);
    print(first);
}

static uint32_t bring_page(uint32_t page, uint32_t half)
{
    return move(IN, COMMANDS + page * PAGE_BYTES, (uint32_t)pages[half], PAGE_BYTES);
}

/* Takes what a page has noted, up to `end`, behind the report; the number of the last transfer. */
static uint32_t take_notes(uint32_t page, uint32_t half, const volatile uint32_t *end)
{
    const uint32_t bytes = (uint32_t)(end - notes[half] + 1) / 2u * 8u;
    return bytes ? move(OUT, (uint32_t)notes[half], REPORT + REPORT_BYTES + page * NOTE_BYTES, bytes) : asked[OUT];
}

/* Does all commands; whether the machine has done what was waited for. Else the report has its status. What is done between two
 * launches stands first. */
static uint32_t execute(void)
{
    uint32_t page = 0, half = 0, brought = 0, taken = 0, noted = 0, comes = bring_page(0, 0);
    wait_for_move(IN, comes);
    for (;;) {
        const volatile uint32_t *next = pages[half];
        volatile uint32_t *note = notes[half];
        const uint32_t following = *next++;
        if (following)
            comes = bring_page(following, 1u - half);
        for (;;) {
            const uint32_t word = *next++, number = word & 0x0FFFFFFFu, kind = word >> 28;
            if (kind == KIND_REGISTERS) {
                const volatile uint32_t *const end = next + 2u * number;
                if (number & 1u) {
                    set(next);
                    next += 2;
                }
                for (; next != end; next += 4) {    /* two at once, half the jumps */
                    set(next);
                    set(next + 2);
                }
            } else if (kind == KIND_WAIT) {
                wait_for_interrupt();
                const uint32_t status = *machine(SARDONYX_STATUS);
                *note++ = *host(SARDONYX_HOST_TIME);
                *note++ = *machine(SARDONYX_CYCLES);
                if (!(status >> number & 1u) || status >> SARDONYX_STATUS_ASTRAY_LSB & 1u) {
                    report.status = status;
                    return 0;
                }
            } else if (kind == KIND_MARK) {
                *note++ = *host(SARDONYX_HOST_TIME);
            } else if (kind == KIND_COUNT) {
                *note++ = counts[number] = *machine(SARDONYX_GLB(number) + SARDONYX_GLB_STORE_WORDS);
            } else if (kind == KIND_BRING) {
                brought = move(IN, next[0], next[1], next[2]);
                next += 3;
            } else if (kind == KIND_BRING_ROWS) {
                for (uint32_t row = 0, from = next[0], to = next[1]; row != number; ++row, from += next[3], to += next[2])
                    brought = move(IN, from, to, next[2]);
                next += 4;
            } else if (kind == KIND_TAKE) {
                taken = move(OUT, next[0], next[1], next[2]);
                next += 3;
            } else if (kind == KIND_TAKE_COUNTED) {
                if (counts[number])
                    taken = move(OUT, next[0], next[1], (counts[number] + 3u) / 4u * 8u);
                next += 2;
            } else if (kind == KIND_BROUGHT) {
                wait_for_move(IN, brought);
            } else if (kind == KIND_TAKEN) {
                wait_for_move(OUT, taken);
            } else {
                /* The other half is free when its notes have gone, and full when its page has come. */
                wait_for_move(OUT, noted);
                noted = take_notes(page, half, note);
                if (kind == KIND_END)
                    return 1;
                wait_for_move(IN, comes);
                page = following;
                half = 1u - half;
                break;
            }
        }
    }
}

__attribute__((section(".start"), used)) void _start(void)
{
    report.ended = execute();
    report.faults = *host(SARDONYX_HOST_FAULTS);
    print(report.ended ? "done in " : "stopped after ");
    print_number(*host(SARDONYX_HOST_TIME));
    print(" cycles\n");
    wait_for_move(OUT, move(OUT, (uint32_t)&report, REPORT, sizeof report));
    __asm__ volatile("ebreak");
    for (;;)
        ;
}
