/* What the processor does: the commands of a plan, then a report into memory outside. */
#include "firmware.h"

/* The system DMA moves words of 8 bytes. */
_Alignas(8) struct report report;
_Static_assert(sizeof report % 8u == 0, "a report is moved");
_Static_assert(sizeof report == REPORT_BYTES, "a report is as runtime/firmware.py reads it");

static volatile uint32_t *host(uint32_t offset) { return (volatile uint32_t *)(SARDONYX_HOST + offset); }

static volatile uint32_t *machine(uint32_t address) { return (volatile uint32_t *)(SARDONYX_MACHINE + address); }

static void move(uint32_t direction, uint32_t from, uint32_t to, uint32_t bytes)
{
    *host(SARDONYX_HOST_MOVE_FROM) = from;
    *host(SARDONYX_HOST_MOVE_TO) = to;
    *host(direction) = bytes;
}

static void wait_for_moves(uint32_t mask)
{
    while (*host(SARDONYX_HOST_MOVES) & mask)
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

/* Does all commands; whether the machine has done what was waited for. Else the report has its status. What is done between two
 * launches stands first. */
static uint32_t execute(const uint32_t *next)
{
    uint32_t events = 0;
    for (;;) {
        const uint32_t word = *next++, number = word & 0x0FFFFFFFu, kind = word >> 28;
        if (kind == KIND_REGISTERS) {
            for (const uint32_t *end = next + 2u * number; next != end; next += 2)
                *(volatile uint32_t *)next[0] = next[1];
        } else if (kind == KIND_WAIT) {
            wait_for_interrupt();
            const uint32_t status = *machine(SARDONYX_STATUS);
            report.times[events] = *host(SARDONYX_HOST_TIME);
            report.cycles[events++] = *machine(SARDONYX_CYCLES);
            if (!(status >> number & 1u) || status >> SARDONYX_STATUS_ASTRAY_LSB & 1u) {
                report.status = status;
                return 0;
            }
        } else if (kind == KIND_MARK) {
            report.times[events++] = *host(SARDONYX_HOST_TIME);
        } else if (kind == KIND_COUNT) {
            report.counts[number] = *machine(*next++);
        } else if (kind == KIND_BRING || kind == KIND_TAKE) {
            move(kind == KIND_BRING ? SARDONYX_HOST_MOVE_IN : SARDONYX_HOST_MOVE_OUT, next[0], next[1], next[2]);
            next += 3;
        } else if (kind == KIND_TAKE_COUNTED) {
            if (report.counts[number])
                move(SARDONYX_HOST_MOVE_OUT, next[0], next[1], (report.counts[number] + 3u) / 4u * 8u);
            next += 2;
        } else if (kind == KIND_BROUGHT) {
            wait_for_moves(SARDONYX_HOST_MOVES_IN_MASK << SARDONYX_HOST_MOVES_IN_LSB);
        } else if (kind == KIND_TAKEN) {
            wait_for_moves(SARDONYX_HOST_MOVES_OUT_MASK << SARDONYX_HOST_MOVES_OUT_LSB);
        } else {
            return 1;
        }
    }
}

__attribute__((section(".start"), used)) void _start(void)
{
    report.ended = execute(commands);
    report.faults = *host(SARDONYX_HOST_FAULTS);
    print(report.ended ? "done in " : "stopped after ");
    print_number(*host(SARDONYX_HOST_TIME));
    print(" cycles\n");
    move(SARDONYX_HOST_MOVE_OUT, (uint32_t)&report, REPORT, sizeof report);
    wait_for_moves(~0u);
    __asm__ volatile("ebreak");
    for (;;)
        ;
}
