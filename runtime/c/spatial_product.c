/* A tiled matrix product C = A B, from memory outside to memory outside, for an array of C(i,j) = A(i,k) * B(k,j); or several, of
 * which some are added up and others follow each other, as in a convolution.
 *
 * Where requests of whole matrices do, these are all: COMMANDS. Else tiles are moved one by one.
 * What is known when it is compiled is computed there: how far apart tiles lie, in bytes, and for each bank of a matrix which part
 * of a tile is its own, where tiles are whole, at the edge, or behind it. So a tile takes a sum for its address, and for each bank
 * the commands of its request.
 */
#include "spatial.h"
#include "product.h"

#ifndef COMMANDS
/* Moves one bank of a tile; `rows` and `columns` say how much of it there is: WHOLE, EDGE or NONE. */
static void move(const struct bank *bank, uint32_t address, uint32_t rows, uint32_t columns)
{
    spatial_set_src_and_dst(bank->source, bank->destination);
    if (bank->size)
        spatial_set_constant(SPATIAL_ELEMENT, bank->size);
    spatial_set_address(bank->memory, address + bank->first);
    for (uint32_t axis = 0; axis < 2; ++axis) {
        const struct loop *loop = &bank->loops[axis];
        const uint32_t there = loop->there[loop->is_row ? rows : columns];
        if (there == loop->span) {
            spatial_set_span(SPATIAL_FOR_BOTH, axis, there);
        } else {
            spatial_set_span(bank->memory, axis, there);
            spatial_set_span(bank->memory ^ SPATIAL_FOR_BOTH, axis, loop->span);
        }
        spatial_set_data_stride(bank->memory, axis, loop->stride);
    }
    spatial_issue();
}

/* Moves a tile, bank by bank. */
static void tile(const struct bank *bank, uint32_t count, uint32_t address, uint32_t rows, uint32_t columns)
{
    for (; count; --count)
        move(bank++, address, rows, columns);
}

/* How much there is of a tile in the order of columns; a group of those that share one of A may go on behind the last. */
static uint32_t across(uint32_t n)
{
    return n + 1 < TILES_ACROSS ? WHOLE : n + 1 == TILES_ACROSS ? LAST_ACROSS : NONE;
}

static void product(void)
{
    spatial_set_constant(SPATIAL_PARTS, PARTS);
#ifdef LAUNCHES
    spatial_set_constant(SPATIAL_LAUNCHES, LAUNCHES);
#endif
#ifdef SHARED
    spatial_set_constant(SPATIAL_SHARED, SHARED);
#endif
    for (uint32_t group = 0, group_a = AT_A, group_c = AT_C; group < GROUPS; ++group, group_a += GROUP_A, group_c += GROUP_C) {
        uint32_t row_a = group_a, row_c = group_c;
        for (uint32_t i = 0; i < TILES_DOWN; ++i, row_a += DOWN_A, row_c += DOWN_C) {
            const uint32_t rows = i == TILES_DOWN - 1 ? LAST_DOWN : WHOLE;
            uint32_t column_b = AT_B, column_c = row_c;
            for (uint32_t j = 0; j < TILES_ACROSS; j += HELD) {
                uint32_t tap_a = row_a, tap_b = column_b;
                for (uint32_t tap = 0; tap < TAPS; ++tap, tap_a += TAP_A, tap_b += TAP_B) {
                    uint32_t at_a = tap_a, row_b = tap_b;
                    for (uint32_t k = 0; k < TILES_DEEP; ++k, at_a += DEEP_A, row_b += DEEP_B) {
                        const uint32_t terms = k == TILES_DEEP - 1 ? LAST_DEEP : WHOLE;
                        uint32_t at_b = row_b;
                        tile(banks_a, COUNT(banks_a), at_a, rows, terms);
                        for (uint32_t n = j; n < j + HELD; ++n, at_b += ACROSS_B)
                            tile(banks_b, COUNT(banks_b), at_b, terms, across(n));
                    }
                }
                /* The tiles of this group. */
                for (uint32_t n = j; n < j + HELD; ++n, column_b += ACROSS_B, column_c += ACROSS_C)
                    tile(banks_c, COUNT(banks_c), column_c, rows, across(n));
            }
        }
    }
}
#else
static void product(void)
{
    COMMANDS
}
#endif

__attribute__((section(".start"), used)) void _start(void)
{
    product();
    (void)spatial_fence();
    __asm__ volatile("ebreak");
    for (;;)
        ;
}
