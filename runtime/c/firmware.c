/* What the processor does: the commands of plans, page by page out of memory outside, then a report there. Each region of the
 * machine has a queue of its own. */
#include "firmware.h"

/* The system DMA moves words of 8 bytes. */
_Static_assert(PAGE_BYTES % 8u == 0 && NOTE_BYTES % 8u == 0, "pages and notes are moved");
_Static_assert(sizeof(struct report) == REPORT_BYTES, "a report is as runtime/report.py reads it");

/* Directions of the system DMA. */
enum way { IN, OUT };

/* What became of a queue: it waits for the system DMA, or for the interrupt; all is done; the machine has stopped for another
 * reason than that its work is done. */
enum state { MOVES, RUNS, ENDED, STOPPED };

/* Where the processor is in the commands of a region. In each half is a page, and what its commands have noted; what the system
 * DMA reads or writes is volatile. */
struct queue {
    const volatile uint32_t *next;
    volatile uint32_t *note;
    uint32_t page, half, following;
    uint32_t row;                           /* of BRING_ROWS or TAKE_ROWS, the one that comes next */
    uint32_t comes, brought, taken, noted;  /* numbers of transfers: the other half's page, operands, results, notes */
    enum state state;
    _Alignas(8) volatile uint32_t pages[2][PAGE_WORDS];
    _Alignas(8) volatile uint32_t notes[2][NOTE_WORDS];
};

static struct queue queues[QUEUES];
static _Alignas(8) volatile struct report report;

/* How many transfers were asked for, each way. */
static uint32_t asked[2];
/* Words that the GLB tiles had stored when they were counted. */
static uint32_t counts[SARDONYX_GLB_TILES];

static volatile uint32_t *host(uint32_t offset) { return (volatile uint32_t *)(SARDONYX_HOST + offset); }

static volatile uint32_t *machine(uint32_t address) { return (volatile uint32_t *)(SARDONYX_MACHINE + address); }

/* Writes a register, given its address and its value. */
static inline void set(const volatile uint32_t *words) { *(volatile uint32_t *)words[0] = words[1]; }

/* Asks for a transfer, which the caller counts. */
static inline void ask(enum way way, uint32_t from, uint32_t to, uint32_t bytes)
{
    *host(SARDONYX_HOST_MOVE_FROM) = from;
    *host(SARDONYX_HOST_MOVE_TO) = to;
    *host(way == IN ? SARDONYX_HOST_MOVE_IN : SARDONYX_HOST_MOVE_OUT) = bytes;
}

/* Asks for a transfer; its number among those of its way. */
static inline uint32_t move(enum way way, uint32_t from, uint32_t to, uint32_t bytes)
{
    ask(way, from, to, bytes);
    return ++asked[way];
}

/* Transfers of a way that go on or wait. */
static inline uint32_t going(enum way way)
{
    const uint32_t moves = *host(SARDONYX_HOST_MOVES);
    return way == IN ? moves >> SARDONYX_HOST_MOVES_IN_LSB & SARDONYX_HOST_MOVES_IN_MASK
                     : moves >> SARDONYX_HOST_MOVES_OUT_LSB & SARDONYX_HOST_MOVES_OUT_MASK;
}

/* Whether the transfers of a way up to one have ended, which they do in order. */
static inline int moved(enum way way, uint32_t number)
{
    const uint32_t later = asked[way] - number;
    return going(way) <= later;
}

/* The same. Where there is one queue it waits for them; with more of them there is something else to do meanwhile. */
static inline int attend(enum way way, uint32_t number)
{
    int so;
    do
        so = moved(way, number);
    while (QUEUES == 1u && !so);
    return so;
}

/* Whether another transfer would not have to wait to be taken. Where there is one queue, nobody minds. */
static inline int room(enum way way) { return QUEUES == 1u || going(way) < WAITING; }

/* Instruction waitirq of PicoRV32: stands still until a line is high, and gives the lines. */
static uint32_t wait_for_interrupt(void)
{
    register uint32_t lines __asm__("a0");
    __asm__ volatile(".word 0x0800450b" : "=r"(lines));
    return lines;
}

/* Whether the interrupt of a region has come. Where there is one queue it waits for it; else it is answered here, as the line is
 * that of all. */
static inline int rang(uint32_t region)
{
    if (QUEUES == 1u) {
        wait_for_interrupt();
        return 1;
    }
    const uint32_t events = *machine(SARDONYX_REGION(region) + SARDONYX_IRQ_STATUS)
                            & *machine(SARDONYX_REGION(region) + SARDONYX_IRQ_ENABLE);
    *machine(SARDONYX_REGION(region) + SARDONYX_IRQ_STATUS) = events;
    return events != 0;
}

/* Asks for rows, from the next one on, as many as have room; the number of the last transfer. First words of a command: where the
 * first row is, where it goes, its bytes. */
static inline uint32_t ask_rows(struct queue *queue, enum way way, uint32_t rows, const volatile uint32_t *words,
                                uint32_t pitch_from, uint32_t pitch_to)
{
    /* A row is to be asked for in fewer cycles than it takes. */
    const uint32_t bytes = words[2], first = queue->row;
    uint32_t row = first, from = words[0] + row * pitch_from, to = words[1] + row * pitch_to;
    for (; row != rows && room(way); ++row, from += pitch_from, to += pitch_to)
        ask(way, from, to, bytes);
    queue->row = row;
    return asked[way] += row - first;
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

static uint32_t bring_page(struct queue *queue, uint32_t page, uint32_t half)
{
    return move(IN, COMMANDS + page * PAGE_BYTES, (uint32_t)queue->pages[half], PAGE_BYTES);
}

/* Goes on with a page that is in a half; the one after it comes into the other half. */
static void enter(struct queue *queue, uint32_t page, uint32_t half)
{
    queue->page = page;
    queue->half = half;
    queue->following = queue->pages[half][0];
    queue->next = queue->pages[half] + 1;
    queue->note = queue->notes[half];
    if (queue->following)
        queue->comes = bring_page(queue, queue->following, 1u - half);
}

/* Takes what the page has noted behind the report; the number of the last transfer. */
static uint32_t take_notes(const struct queue *queue)
{
    const volatile uint32_t *const first = queue->notes[queue->half];
    const uint32_t bytes = (uint32_t)(queue->note - first + 1) / 2u * 8u;
    return bytes ? move(OUT, (uint32_t)first, REPORT + REPORT_BYTES + queue->page * NOTE_BYTES, bytes) : queue->noted;
}

/* Does the commands of a region until one has to wait, which is done again next time, or there are no more. What is done between
 * two launches stands first. */
static enum state execute(struct queue *queue, uint32_t region)
{
    const volatile uint32_t *next = queue->next;
    volatile uint32_t *note = queue->note;
    enum state state = MOVES;
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
            if (!rang(region)) {
                state = RUNS;
                break;
            }
            const uint32_t status = *machine(SARDONYX_REGION(region) + SARDONYX_STATUS);
            *note++ = *host(SARDONYX_HOST_TIME);
            *note++ = *machine(SARDONYX_REGION(region) + SARDONYX_CYCLES);
            if (!(status >> number & 1u) || status >> SARDONYX_STATUS_ASTRAY_LSB & 1u) {
                report.status = status;
                report.region = region;
                state = STOPPED;
                break;
            }
        } else if (kind == KIND_MARK) {
            *note++ = *host(SARDONYX_HOST_TIME);
        } else if (kind == KIND_COUNT) {
            *note++ = counts[number] = *machine(SARDONYX_GLB(number) + SARDONYX_GLB_STORE_WORDS);
        } else if (kind == KIND_BRING) {
            if (!room(IN))
                break;
            queue->brought = move(IN, next[0], next[1], next[2]);
            next += 3;
        } else if (kind == KIND_BRING_ROWS) {
            queue->brought = ask_rows(queue, IN, number, next, next[3], next[2]);
            if (queue->row != number)
                break;
            queue->row = 0;
            next += 4;
        } else if (kind == KIND_TAKE_ROWS) {
            queue->taken = ask_rows(queue, OUT, number, next, next[3], next[4]);
            if (queue->row != number)
                break;
            queue->row = 0;
            next += 5;
        } else if (kind == KIND_TAKE) {
            if (!room(OUT))
                break;
            queue->taken = move(OUT, next[0], next[1], next[2]);
            next += 3;
        } else if (kind == KIND_TAKE_COUNTED) {
            if (!room(OUT))
                break;
            if (counts[number])
                queue->taken = move(OUT, next[0], next[1], (counts[number] + 3u) / 4u * 8u);
            next += 2;
        } else if (kind == KIND_BROUGHT) {
            if (!attend(IN, queue->brought))
                break;
        } else if (kind == KIND_TAKEN) {
            if (!attend(OUT, queue->taken))
                break;
        } else {
            /* The other half is free when its notes have gone, and full when its page has come. */
            if (!attend(OUT, queue->noted) || !attend(IN, queue->comes))
                break;
            queue->note = note;
            queue->noted = take_notes(queue);
            if (kind == KIND_END) {
                state = ENDED;
                break;
            }
            enter(queue, queue->following, 1u - queue->half);
            next = queue->next;
            note = queue->note;
        }
    }
    queue->next = next - 1;
    queue->note = note;
    return state;
}

/* Does the commands of all regions, each as soon as it can go on; whether the machine has done what was waited for. Else the
 * report has its status. */
static uint32_t serve(void)
{
    for (uint32_t region = 0; region < QUEUES; ++region) {
        struct queue *const queue = &queues[region];
        queue->comes = bring_page(queue, region, 0);
        while (!moved(IN, queue->comes))
            ;
        enter(queue, region, 0);
    }
    for (;;) {
        uint32_t left = 0, moves = 0;
        for (uint32_t region = 0; region < QUEUES; ++region) {
            struct queue *const queue = &queues[region];
            if (queue->state == ENDED)
                continue;
            queue->state = execute(queue, region);
            if (queue->state == STOPPED)
                return 0;
            left += queue->state != ENDED;
            moves += queue->state == MOVES;
        }
        if (!left)
            return 1;
        if (!moves)
            wait_for_interrupt();
    }
}

__attribute__((section(".start"), used)) void _start(void)
{
    report.ended = serve();
    report.faults = *host(SARDONYX_HOST_FAULTS);
    print(report.ended ? "done in " : "stopped after ");
    print_number(*host(SARDONYX_HOST_TIME));
    print(" cycles\n");
    const uint32_t last = move(OUT, (uint32_t)&report, REPORT, sizeof report);
    while (!moved(OUT, last))
        ;
    __asm__ volatile("ebreak");
    for (;;)
        ;
}
