/* The commands of plans, as words that the firmware executes one after the other, beside those of other regions.
 *
 * A command is a word with its kind and a number, and more words where it says so. Commands lie in memory outside, in pages; the
 * system DMA brings one page while the processor executes another. What is noted goes out in pieces, one for each page. In a chain
 * that any of several regions may execute, registers, GLB tiles and bytes of the global buffer count from the first ones of a region.
 */
#ifndef FIRMWARE_H
#define FIRMWARE_H

#include <stdint.h>

#include "sardonyx.h"

/* 32 of them have room in a word. */
enum kind { KIND_REGISTERS, KIND_GLB_REGISTERS, KIND_WAIT, KIND_MARK, KIND_BRING, KIND_TAKE, KIND_COUNT,
            KIND_COUNT_BEFORE, KIND_TAKE_COUNTED, KIND_BROUGHT, KIND_TAKEN, KIND_BRING_ROWS, KIND_TAKE_ROWS, KIND_JOB, KIND_JOB_DONE,
            KIND_RESUMES, KIND_WAIT_TAKEN, KIND_WAIT_STORED, KIND_TAKE_MEANWHILE, KIND_AGAIN,
            KIND_NEXT, KIND_END };

#define KIND_LSB 27
#define COMMAND(kind, number) ((uint32_t)(kind) << KIND_LSB | (number))
/* The first word of a page: which page comes after it, 0 if none does. Those of chain c begin with page c. */
#define FOLLOWED_BY(page) (page)
/* Go on in that page. */
#define NEXT COMMAND(KIND_NEXT, 0u)
/* The chain has ended. */
#define END COMMAND(KIND_END, 0u)
/* A job begins; that is the page where the chain goes on if the job is stopped, 0 if it ends. */
#define JOB(job, otherwise) COMMAND(KIND_JOB, (job)), (otherwise)
/* All of it was done. */
#define JOB_DONE COMMAND(KIND_JOB_DONE, 0u)
/* Do nothing of a job if that one was stopped. */
#define RESUMES(job) COMMAND(KIND_RESUMES, (job))
/* Write so many registers, each as it is set behind it; in such a chain those of the region's controller, or of its GLB tiles. */
#define REGISTERS(count) COMMAND(KIND_REGISTERS, (count))
#define GLB_REGISTERS(count) COMMAND(KIND_GLB_REGISTERS, (count))
#define SET(address, value) SARDONYX_MACHINE + (address), (value)
/* The same, and among them are pairs that ask for so many transfers of each way, of three pairs each. */
#define REGISTERS_AND_MOVES(count, brings, takes) COMMAND(KIND_REGISTERS, (count) | (brings) << BRINGS_LSB | (takes) << TAKES_LSB)
#define BRINGS_LSB 11
#define TAKES_LSB 19
/* Write so many registers from a pair of `lists` on, which are those of commands that come more than once. Where there is one region. */
#define AGAIN(count, place) COMMAND(KIND_AGAIN, (count) | (place) << BRINGS_LSB)
#define SET_MOVE(from, to, way, bytes) SARDONYX_HOST + SARDONYX_HOST_MOVE_FROM, (from), SARDONYX_HOST + SARDONYX_HOST_MOVE_TO, (to), \
                                       SARDONYX_HOST + (way), (bytes)
#define SET_BRING(outside, glb, bytes) SET_MOVE(outside, SARDONYX_GLB_WINDOW + (glb), SARDONYX_HOST_MOVE_IN, bytes)
#define SET_TAKE(glb, outside, bytes) SET_MOVE(SARDONYX_GLB_WINDOW + (glb), outside, SARDONYX_HOST_MOVE_OUT, bytes)
/* Let the system DMA bring bytes from memory outside to the global buffer, or take them from there. */
#define BRING(outside, glb, bytes) COMMAND(KIND_BRING, 0u), (outside), SARDONYX_GLB_WINDOW + (glb), (bytes)
#define TAKE(glb, outside, bytes) COMMAND(KIND_TAKE, 0u), SARDONYX_GLB_WINDOW + (glb), (outside), (bytes)
/* Bring parts of images to the global buffer, or take them from there: where the first one is, and behind it, or at that word of `lists`
 * but one, how they lie: so many transfers of as many rows of bytes each, one or more, with pitches of their own where rows come from and
 * where they go to, and how far the other ones are from the first one. */
#define BRING_ROWS(kept) COMMAND(KIND_BRING_ROWS, (kept))
#define TAKE_ROWS(kept) COMMAND(KIND_TAKE_ROWS, (kept))
#define TO_GLB(outside, glb) (outside), SARDONYX_GLB_WINDOW + (glb)
#define FROM_GLB(glb, outside) SARDONYX_GLB_WINDOW + (glb), (outside)
#define ROWS(transfers, rows, bytes, pitch_from, pitch_to) (transfers) << TRANSFERS_LSB | ((rows) - 1u), (bytes), (pitch_from), (pitch_to)
#define BESIDE(from, to) (from), (to)
#define TRANSFERS_LSB 16
/* Read register store_words of a GLB tile, or store_words_before, note it, and keep it in one of COUNTED places; take as many 16-bit
 * words as that place has. */
#define COUNT(tile, place) COMMAND(KIND_COUNT, (tile) | (place) << PLACE_LSB)
#define COUNT_BEFORE(tile, place) COMMAND(KIND_COUNT_BEFORE, (tile) | (place) << PLACE_LSB)
#define PLACE_LSB 8
#define TAKE_COUNTED(place, glb, outside) COMMAND(KIND_TAKE_COUNTED, (place)), SARDONYX_GLB_WINDOW + (glb), (outside)
/* Take what that many streams store as it comes, until descriptors that wait, as of WAIT_TAKEN, have begun, or with none of these until
 * the run has ended, as it should; note the time then, cycles of the run, and how many words each stream has. */
#define TAKE_MEANWHILE(streams, loads, stores) COMMAND(KIND_TAKE_MEANWHILE, (streams)), QUEUED(loads, stores)
#define STREAM(tile, glb, outside) (tile), SARDONYX_GLB_WINDOW + (glb), (outside)
/* Wait until all is brought, or taken, or all but so many of the last ones. */
#define BROUGHT BROUGHT_BUT(0u)
#define TAKEN TAKEN_BUT(0u)
#define BROUGHT_BUT(last) COMMAND(KIND_BROUGHT, (last))
#define TAKEN_BUT(last) COMMAND(KIND_TAKEN, (last))
/* Wait for the region's interrupt, and note the time and the cycles of its run, or of its configuration; that bit of its status says that all is well. */
#define WAIT(bit) COMMAND(KIND_WAIT, (bit))
/* Wait until no descriptor of the loads and stores of these GLB tiles, a bit each, waits, and note the time. */
#define WAIT_TAKEN(loads, stores) COMMAND(KIND_WAIT_TAKEN, 0u), QUEUED(loads, stores)
#ifdef SARDONYX_QUEUED
#define QUEUED(loads, stores) ((loads) << SARDONYX_QUEUED_LOADS_LSB | (stores) << SARDONYX_QUEUED_STORES_LSB)
#else
#define QUEUED(loads, stores) 0u
#endif
/* Wait until the stores of GLB tiles, some bits of a word each, have counted so many words, or their run goes on no more. */
#define WAIT_STORED(words) COMMAND(KIND_WAIT_STORED, (words))
#define STORED(tile, number) ((tile) + 1u) << (number) * TILE_BITS
#define TILE_BITS 8u
/* Note the time. */
#define MARK COMMAND(KIND_MARK, 0u)

#define PAGE_WORDS (PAGE_BYTES / 4u)
#define NOTE_WORDS (NOTE_BYTES / 4u)

/* What became of a job: bits of `state`, and from REGION_LSB on the region where it began. */
#define BEGUN 1u
#define DONE 2u
#define STOPPED 4u
#define REGION_LSB 8u

/* What the firmware leaves in memory outside, in front of the notes of the first page: a multiple of 8 bytes. */
struct report {
    uint32_t ended;     /* 1: every command of every job was done */
    uint32_t faults;    /* of the host, see its register */
    struct {
        uint32_t state;
        uint32_t status;    /* of the region, where that stopped the job */
    } jobs[JOBS];
};

/* A region: the GLB tiles that it claims, 0 where there is nothing to claim, its first one, and the first byte of that. */
struct place {
    uint32_t claim, tile, window;
};

extern const uint32_t commands[][PAGE_WORDS];

#endif
