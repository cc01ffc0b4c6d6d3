/* What the processor does: the commands of plans, page by page out of memory outside, then a report there. Commands are in
 * chains; each region of the machine executes one, and then takes the next one that is for it. */
#include "firmware.h"
/* Where regions lie, and of every chain by which of them it may be executed. */
#include "tables.h"

#define CHAINS (sizeof chains / sizeof chains[0])

/* The system DMA moves words of 8 bytes. */
_Static_assert(PAGE_BYTES % 8u == 0 && NOTE_BYTES % 8u == 0, "pages and notes are moved");
_Static_assert(sizeof(struct report) == REPORT_BYTES, "a report is as runtime/report.py reads it");

/* Directions of the system DMA. */
enum way { IN, OUT };

/* What a region does: its commands wait for the system DMA, or for the interrupt; nothing is left for it. */
enum state { MOVES, RUNS, ENDED };

/* What became of a command that may take long: it is done again, it is done, what it waits for was stopped. */
enum step { LATER, WELL, STOPS };

/* Where the processor is in the commands of a region. In each half is a page, and what its commands have noted; what the system
 * DMA reads or writes is volatile. */
struct queue {
    const volatile uint32_t *next;
    volatile uint32_t *note;
    uint32_t page, half, following;
    uint32_t chain;                         /* those before it have begun, or are for others */
    uint32_t away, tile, window;            /* what its commands count from */
    uint32_t job, otherwise;                /* the page where it goes on if the job is stopped */
    uint32_t comes, brought, taken, noted;  /* numbers of transfers: the other half's page, operands, results, notes */
    enum state state;
    uint32_t counted[COUNTED];              /* of COUNT */
#if STREAMS
    uint32_t gone[STREAMS], stream, counts; /* of TAKE_MEANWHILE: lines of each that were asked for, which is next; the run has begun */
#endif
    _Alignas(8) volatile uint32_t pages[2][PAGE_WORDS];
    _Alignas(8) volatile uint32_t notes[2][NOTE_WORDS];
};

static struct queue queues[REGIONS];
static uint8_t begun[CHAINS];
static _Alignas(8) volatile struct report report;

/* How many transfers were asked for, each way. */
static uint32_t asked[2];

static volatile uint32_t *host(uint32_t offset) { return (volatile uint32_t *)(SARDONYX_HOST + offset); }

static volatile uint32_t *machine(uint32_t address) { return (volatile uint32_t *)(SARDONYX_MACHINE + address); }

/* What commands count from: registers, GLB tiles and bytes of the global buffer. Where there is one region that is known. */
static inline uint32_t away(const struct queue *queue) { return REGIONS == 1u ? 0 : queue->away; }

static inline uint32_t first_tile(const struct queue *queue) { return REGIONS == 1u ? 0 : queue->tile; }

static inline uint32_t first_byte(const struct queue *queue) { return REGIONS == 1u ? 0 : queue->window; }

/* Writes a register, given its address from a base on and its value. */
static inline void set(const volatile uint32_t *words, uint32_t base) { *(volatile uint32_t *)(words[0] + base) = words[1]; }

/* From so many on a list of registers is left to the setter. */
#define LEAST 3u

/* Pairs of a list, in a command that asks for no transfers. */
#define MOST ((1u << BRINGS_LSB) - 1u)

static inline const volatile uint32_t *kept_list(uint32_t command) { return lists + 2u * (command >> BRINGS_LSB & MOST); }

static inline int again(uint32_t command) { return KEPT ? command >> KIND_LSB == KIND_AGAIN : 0; }

/* Whether a command is a list that the setter sets. */
static inline int listed(uint32_t command) { return command - COMMAND(KIND_REGISTERS, LEAST) <= MOST - LEAST || again(command); }

/* Waits until every register is set. */
static inline void settle(void) { (void)*host(SARDONYX_HOST_SET_COUNT); }

/* Asks for a transfer. */
static inline void ask(enum way way, uint32_t from, uint32_t to, uint32_t bytes)
{
    *host(SARDONYX_HOST_MOVE_FROM) = from;
    *host(SARDONYX_HOST_MOVE_TO) = to;
    *host(way == IN ? SARDONYX_HOST_MOVE_IN : SARDONYX_HOST_MOVE_OUT) = bytes;
}

/* The same; its number among those of its way. */
static inline uint32_t move(enum way way, uint32_t from, uint32_t to, uint32_t bytes)
{
    ask(way, from, to, bytes);
    return ++asked[way];
}

#if ROWED
/* Asks for transfers of rows of a shape, given where the first one is; the word behind the shape. */
static inline const volatile uint32_t *move_rows(uint32_t ask, const volatile uint32_t *shape, uint32_t from, uint32_t to)
{
    const uint32_t more = shape[0] & ((1u << TRANSFERS_LSB) - 1u), bytes = shape[1];
    const volatile uint32_t *beside = shape + 4, *const end = beside + 2u * (shape[0] >> TRANSFERS_LSB) - 2u;
    *host(SARDONYX_HOST_PITCH_FROM) = shape[2];
    *host(SARDONYX_HOST_PITCH_TO) = shape[3];
    uint32_t one = from, other = to;
    for (;; beside += 2) {
        *host(SARDONYX_HOST_MOVE_MORE) = more;
        *host(SARDONYX_HOST_MOVE_FROM) = one;
        *host(SARDONYX_HOST_MOVE_TO) = other;
        *host(ask) = bytes;
        if (beside == end)
            return end;
        one = from + beside[0];
        other = to + beside[1];
    }
}
#endif

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

/* The same. Where there is one region it waits for them; with more of them there is something else to do meanwhile. */
static inline int attend(enum way way, uint32_t number)
{
    int so;
    do
        so = moved(way, number);
    while (REGIONS == 1u && !so);
    return so;
}

/* Regions whose commands have not ended. */
static uint32_t live;

/* Whether another transfer would not have to wait to be taken. Where there is one region, or none of the others has anything to do,
 * nobody minds. */
static inline int room(enum way way) { return REGIONS == 1u || live == 1u || going(way) < WAITING; }

/* Whether so many more would not, or nothing else moves. */
static inline int spare(enum way way, uint32_t number)
{
    if (REGIONS == 1u || live == 1u)
        return 1;
    const uint32_t before = going(way);
    return before == 0 || before + number <= WAITING;
}

/* Instruction waitirq of PicoRV32: stands still until a line is high, and gives the lines. */
static inline uint32_t wait_for_interrupt(void)
{
    register uint32_t lines __asm__("a0");
    __asm__ volatile(".word 0x0800450b" : "=r"(lines));
    return lines;
}

/* Whether the interrupt of a region has come, of an event or of what stops it. Where there is one region it waits for it; else that
 * event is answered here, as the line is that of all. A run that begins with its configuration may have ended by then, which is for
 * whoever waits for that. */
static inline int rang(uint32_t region, uint32_t event)
{
    if (REGIONS == 1u) {
        /* An interrupt of before may be cleared in a list. */
        settle();
        wait_for_interrupt();
        return 1;
    }
    const uint32_t events = *machine(SARDONYX_REGION(region) + SARDONYX_IRQ_STATUS)
                            & *machine(SARDONYX_REGION(region) + SARDONYX_IRQ_ENABLE);
    *machine(SARDONYX_REGION(region) + SARDONYX_IRQ_STATUS) = events & 1u << event;
    return events != 0;
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

/* Whether others are to go on behind a launch. A region whose launches end before the processor comes to them never waits, and the
 * watchdogs of the others would run out: a launch takes some 900 cycles of the processor. */
static inline int others(void) { return REGIONS != 1u && live != 1u; }

/* What stands in for the commands behind one that has stopped, or in front of a chain. */
static const volatile uint32_t go_on = NEXT, give_up = END;

/* What is done once a job is no part of `execute`, whose variables so keep their registers: a switch takes 60 cycles less. */
#define SELDOM static __attribute__((noinline))

/* Of a region that has stopped: nothing goes on in it and no interrupt of it comes, and the report says why. What comes next is
 * where the chain goes on. */
SELDOM void stop(struct queue *queue, uint32_t region, uint32_t status)
{
    *machine(SARDONYX_REGION(region) + SARDONYX_IRQ_ENABLE) = 0;
    *machine(SARDONYX_REGION(region) + SARDONYX_CONTROL) = 1u << SARDONYX_CONTROL_STOP_LSB;
    report.jobs[queue->job].state |= STOPPED;
    report.jobs[queue->job].status = status;
    queue->following = queue->otherwise;
    /* It comes behind the page that was to come next, and so in its place. */
    if (queue->following)
        queue->comes = bring_page(queue, queue->following, 1u - queue->half);
}

/* With queues of descriptors in GLB tiles: those that wait, and the words of the one before. */
#ifdef SARDONYX_QUEUED
static inline uint32_t waiting(uint32_t region) { return *machine(SARDONYX_REGION(region) + SARDONYX_QUEUED); }

static inline uint32_t words_before(uint32_t tile) { return *machine(SARDONYX_GLB(tile) + SARDONYX_GLB_STORE_WORDS_BEFORE); }
#else
static inline uint32_t waiting(uint32_t region) { return region & 0u; }

static inline uint32_t words_before(uint32_t tile) { return tile; }
#endif

#if STREAMS
/* Lines that are worth a transfer while more of them come; in a launch that none follows, whose rest moves alone, fewer do. Of the words
 * that a store has counted the last ones are on their way: a line is filled, and one waits for its bank (hw/glb/deserialiser.py). */
#define WORTH 96u
#define WORTH_LAST 48u
#define ON_THEIR_WAY 2u

/* Asks for lines of a stream, so many after so many. */
static inline void ask_lines(const struct queue *queue, const volatile uint32_t *stream, uint32_t first, uint32_t lines)
{
    ask(OUT, stream[1] + first_byte(queue) + 8u * first, stream[2] + 8u * first, 8u * lines);
}

/* Takes what streams of a launch store, piece by piece, until that has ended. Where there is one region it waits for the end; else it
 * looks at a stream, and is done again. */
SELDOM enum step take_meanwhile(struct queue *queue, uint32_t region, uint32_t streams, const volatile uint32_t *words, volatile uint32_t *note)
{
    const uint32_t base = SARDONYX_REGION(region), next = *words++ << first_tile(queue), worth = next ? WORTH : WORTH_LAST;
    const volatile uint32_t *const end = words + 3u * streams, *each = words + 3u * queue->stream;
    uint32_t *gone = queue->gone + queue->stream;
    do {
        const uint32_t status = *machine(base + SARDONYX_STATUS);
        const uint32_t well = next ? !(waiting(region) & next) : status >> SARDONYX_STATUS_DONE_LSB & 1u;
        if (!well && status >> SARDONYX_STATUS_BUSY_LSB & 1u) {
            /* Before a run begins what stores count is of the one before. */
            if (!queue->counts && !(queue->counts = *machine(base + SARDONYX_CYCLES)))
                continue;
            /* One at a time, so that the end is seen soon. */
            const volatile uint32_t *const stream = each;
            uint32_t *const before = gone;
            each += 3;
            ++gone;
            if (each == end) {
                each = words;
                gone = queue->gone;
            }
            const uint32_t tile = first_tile(queue) + stream[0], first = *before;
            const uint32_t lines = *machine(SARDONYX_GLB(tile) + SARDONYX_GLB_STORE_WORDS) / 4u - ON_THEIR_WAY;
            if ((int32_t)(lines - first) < (int32_t)worth || !room(OUT))
                continue;
            /* A stream that has ended with this launch is at the next one, whatever others do: then these words are of that. */
            if (next && !(waiting(region) & QUEUED(0u, 1u << tile)))
                continue;
            *before = lines;
            ask_lines(queue, stream, first, lines - first);
            queue->taken = ++asked[OUT];
            continue;
        }
        if (well && !spare(OUT, streams))
            continue;
        /* What is left is asked for at once, and noted behind that. */
        const uint32_t time = *host(SARDONYX_HOST_TIME), cycles = *machine(base + SARDONYX_CYCLES);
        volatile uint32_t *count = note + 2;
        uint32_t transfers = 0;
        for (each = words, gone = queue->gone; each != end; each += 3, ++gone) {
            const uint32_t tile = first_tile(queue) + each[0], first = *gone;
            /* Of a job that is stopped nothing is wanted, and what it counted may be of either launch. */
            if (well) {
                const uint32_t stored = next ? words_before(tile) : *machine(SARDONYX_GLB(tile) + SARDONYX_GLB_STORE_WORDS);
                const uint32_t lines = (stored + 3u) / 4u - first;
                /* Each stream has a transfer at least, so that those are counted: of a line if there are no words. */
                if (lines || !first) {
                    ask_lines(queue, each, first, lines ? lines : 1u);
                    ++transfers;
                }
                *count++ = stored;
            }
            *gone = 0;
        }
        note[0] = time;
        note[1] = cycles;
        queue->counts = queue->stream = 0;
        if (transfers)
            queue->taken = asked[OUT] += transfers;
        return well ? WELL : STOPS;
    } while (REGIONS == 1u);
    queue->stream = (uint32_t)(gone - queue->gone);
    return LATER;
}
#endif

/* Lets a free region begin with the first chain that is for it and that nobody has begun; whether there is one. */
SELDOM int begin(struct queue *queue, uint32_t region)
{
    while (queue->chain < CHAINS && (begun[queue->chain] || !(chains[queue->chain] >> region & 1u)))
        ++queue->chain;
    if (queue->chain == CHAINS)
        return 0;
    begun[queue->chain] = 1;
    /* Commands for one region only are written for where it lies. */
    const uint32_t any = chains[queue->chain] & (chains[queue->chain] - 1u);
    queue->away = any ? SARDONYX_REGION(region) - SARDONYX_REGION(0u) : 0;
    queue->tile = any ? places[region].tile : 0;
    queue->window = any ? places[region].window : 0;
    queue->following = queue->chain;
    queue->comes = bring_page(queue, queue->following, 1u - queue->half);
    queue->next = &go_on;
    queue->note = queue->notes[queue->half];
    return 1;
}

/* Does the commands of a region until one has to wait, which is done again next time, or there are no more. */
static enum state execute(struct queue *queue, uint32_t region)
{
    const volatile uint32_t *next = queue->next;
    volatile uint32_t *note = queue->note;
    enum state state = MOVES;
    for (;;) {
        const uint32_t word = *next++, number = word & ((1u << KIND_LSB) - 1u);
        const enum kind kind = (enum kind)(word >> KIND_LSB);
        switch (kind) {
        case KIND_REGISTERS:
        case KIND_GLB_REGISTERS: {
            const uint32_t base = kind == KIND_REGISTERS ? away(queue) : SARDONYX_GLB(first_tile(queue)) - SARDONYX_GLB(0u);
            const uint32_t count = number & MOST;
            const volatile uint32_t *const end = next + 2u * count;
            const uint32_t brings = number >> BRINGS_LSB & ((1u << (TAKES_LSB - BRINGS_LSB)) - 1u), takes = number >> TAKES_LSB;
            /* A list that waits for room among transfers would keep all others from registers. */
            if ((brings && !spare(IN, brings)) || (takes && !spare(OUT, takes)))
                goto later;
            if (base == 0 && count >= LEAST) {
                /* What is done next may go on meanwhile: what it asks of registers waits. */
                *host(SARDONYX_HOST_SET_FROM) = (uint32_t)next;
                *host(SARDONYX_HOST_SET_COUNT) = count;
                next = end;
                if (brings)
                    queue->brought = asked[IN] += brings;
                if (takes)
                    queue->taken = asked[OUT] += takes;
            }
            for (; next != end; next += 2)
                set(next, base);
            continue;
        }
        case KIND_WAIT: {
            if (!rang(region, number)) {
                state = RUNS;
                goto later;
            }
            const uint32_t status = *machine(SARDONYX_REGION(region) + SARDONYX_STATUS);
            *note++ = *host(SARDONYX_HOST_TIME);
            *note++ = *machine(SARDONYX_REGION(region) + (number == SARDONYX_STATUS_CONFIGURED_LSB ? SARDONYX_CONFIG_CYCLES : SARDONYX_CYCLES));
            if (!(status >> number & 1u) || status >> SARDONYX_STATUS_ASTRAY_LSB & 1u) {
                stop(queue, region, status);
                next = queue->following ? &go_on : &give_up;
            }
            continue;
        }
        case KIND_WAIT_TAKEN: {
            const int waits = (waiting(region) & *next << first_tile(queue)) != 0;
            const uint32_t status = waits ? *machine(SARDONYX_REGION(region) + SARDONYX_STATUS) : 0;
            if (status >> SARDONYX_STATUS_BUSY_LSB & 1u)
                goto later;
            *note++ = *host(SARDONYX_HOST_TIME);
            ++next;
            if (waits) {
                stop(queue, region, status);
                next = queue->following ? &go_on : &give_up;
            }
            if (others())
                goto turn;
            continue;
        }
        case KIND_WAIT_STORED:
            for (uint32_t tiles = PIECED ? *next : 0; tiles; tiles >>= TILE_BITS)
                while (*machine(SARDONYX_GLB(first_tile(queue) + (tiles & ((1u << TILE_BITS) - 1u)) - 1u) + SARDONYX_GLB_STORE_WORDS) < number
                       && *machine(SARDONYX_REGION(region) + SARDONYX_STATUS) >> SARDONYX_STATUS_BUSY_LSB & 1u)
                    if (REGIONS != 1u)
                        goto later;
            ++next;
            continue;
        case KIND_MARK:
            *note++ = *host(SARDONYX_HOST_TIME);
            continue;
        case KIND_BRING:
            if (!room(IN))
                goto later;
            queue->brought = move(IN, next[0], next[1] + first_byte(queue), next[2]);
            next += 3;
            continue;
#if ROWED
        case KIND_BRING_ROWS: {
            const volatile uint32_t *const shape = number ? lists + number - 1u : next + 2, *end;
            const uint32_t transfers = shape[0] >> TRANSFERS_LSB;
            if (!spare(IN, transfers))
                goto later;
            end = move_rows(SARDONYX_HOST_MOVE_IN, shape, next[0], next[1] + first_byte(queue));
            queue->brought = asked[IN] += transfers;
            next = number ? next + 2 : end;
            continue;
        }
        case KIND_TAKE_ROWS: {
            const volatile uint32_t *const shape = number ? lists + number - 1u : next + 2, *end;
            const uint32_t transfers = shape[0] >> TRANSFERS_LSB;
            if (!spare(OUT, transfers))
                goto later;
            end = move_rows(SARDONYX_HOST_MOVE_OUT, shape, next[0] + first_byte(queue), next[1]);
            queue->taken = asked[OUT] += transfers;
            next = number ? next + 2 : end;
            continue;
        }
#else
        case KIND_BRING_ROWS:
        case KIND_TAKE_ROWS:
            continue;
#endif
        case KIND_TAKE:
            if (!room(OUT))
                goto later;
            queue->taken = move(OUT, next[0] + first_byte(queue), next[1], next[2]);
            next += 3;
            continue;
        case KIND_COUNT:
        case KIND_COUNT_BEFORE: {
            const uint32_t tile = first_tile(queue) + (number & ((1u << PLACE_LSB) - 1u));
            const uint32_t words = kind == KIND_COUNT ? *machine(SARDONYX_GLB(tile) + SARDONYX_GLB_STORE_WORDS) : words_before(tile);
            *note++ = queue->counted[number >> PLACE_LSB] = words;
            continue;
        }
        case KIND_TAKE_COUNTED: {
            if (!room(OUT))
                goto later;
            /* A line if there are none, so that all transfers are counted. */
            const uint32_t words = queue->counted[number];
            queue->taken = move(OUT, next[0] + first_byte(queue), next[1], words ? (words + 3u) / 4u * 8u : 8u);
            next += 2;
            continue;
        }
        case KIND_TAKE_MEANWHILE:
#if STREAMS
        {
            const enum step step = take_meanwhile(queue, region, number, next, note);
            if (step == LATER)
                goto later;
            note += 2u + number;
            next += 1u + 3u * number;
            if (step == STOPS) {
                stop(queue, region, *machine(SARDONYX_REGION(region) + SARDONYX_STATUS));
                next = queue->following ? &go_on : &give_up;
            }
            if (others())
                goto turn;
        }
#endif
            continue;
        case KIND_BROUGHT:
            /* A list that waits for words is set as soon as they are there: those behind them come to the banks that it starts from. */
            if (KEPT && listed(*next)) {
                const uint32_t later = asked[IN] - queue->brought + number, list = *next++, count = list & MOST;
                const volatile uint32_t *const first = again(list) ? kept_list(list) : next;
                *host(SARDONYX_HOST_SET_FROM) = (uint32_t)first;
                while (going(IN) > later)
                    ;
                *host(SARDONYX_HOST_SET_COUNT) = count;
                if (first == next)
                    next += 2u * count;
                /* Of a dense program the number of runs stands behind it, and that begins the launch. */
                if (*next == COMMAND(KIND_REGISTERS, 1u)) {
                    set(next + 1, 0);
                    next += 3;
                }
                continue;
            }
            /* Others may be between those of this region: then it waits for some more. */
            if (!attend(IN, queue->brought - number))
                goto later;
            continue;
        case KIND_TAKEN:
            if (!attend(OUT, queue->taken - number))
                goto later;
            continue;
        case KIND_AGAIN:
            if (KEPT) {
                *host(SARDONYX_HOST_SET_FROM) = (uint32_t)kept_list(number);
                *host(SARDONYX_HOST_SET_COUNT) = number & MOST;
            }
            continue;
        case KIND_JOB:
            queue->job = number;
            queue->otherwise = *next++;
            report.jobs[number].state = region << REGION_LSB | BEGUN;
            continue;
        case KIND_JOB_DONE:
            report.jobs[queue->job].state |= DONE;
            continue;
        case KIND_RESUMES:
            if (RESUMES_SOME && !(report.jobs[number].state & DONE)) {
                stop(queue, region, 0);
                next = queue->following ? &go_on : &give_up;
            }
            continue;
        case KIND_NEXT:
        case KIND_END:
            break;
        }
        /* The other half is free when its notes have gone, and full when its page has come. */
        if (!attend(OUT, queue->noted) || !attend(IN, queue->comes))
            goto later;
        /* Of a job that was stopped something may be under way. */
        if (kind == KIND_END && (!attend(OUT, queue->taken) || !attend(IN, queue->brought)))
            goto later;
        /* A list may lie in the half that the next page comes to. */
        settle();
        queue->note = note;
        queue->noted = take_notes(queue);
        if (kind == KIND_NEXT)
            enter(queue, queue->following, 1u - queue->half);
        else if (!begin(queue, region)) {
            state = ENDED;
            goto later;
        }
        next = queue->next;
        note = queue->note;
    }
turn:
    ++next;
later:
    queue->next = next - 1;
    queue->note = note;
    return state;
}

/* Does the commands of all chains, each as soon as it can go on; whether no job was stopped. */
static uint32_t serve(void)
{
    /* Region 0 has all tiles after reset, and gives up those of others. */
    for (uint32_t region = 0; region < REGIONS; ++region)
        if (places[region].claim)
            *machine(SARDONYX_REGION(region) + SARDONYX_CLAIM) = places[region].claim;
    for (uint32_t region = 0; region < REGIONS; ++region)
        live += (queues[region].state = begin(&queues[region], region) ? MOVES : ENDED) != ENDED;
    /* Lines of regions that may go on, of those that wait for their interrupt. */
    uint32_t lines = ~0u;
    while (live) {
        uint32_t moves = 0;
        for (uint32_t region = 0; region < REGIONS; ++region) {
            struct queue *const queue = &queues[region];
            if (queue->state == ENDED || (queue->state == RUNS && !(lines >> SARDONYX_IRQ(region) & 1u)))
                continue;
            queue->state = execute(queue, region);
            live -= queue->state == ENDED;
            moves += queue->state == MOVES;
        }
        lines = !moves && live ? wait_for_interrupt() : ~0u;
    }
    for (uint32_t job = 0; job < JOBS; ++job)
        if (report.jobs[job].state & STOPPED)
            return 0;
    return 1;
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
