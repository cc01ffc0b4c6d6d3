/* A tiled matrix product C = A B, from memory outside to memory outside, for an array of C(i,j) = A(i,k) * B(k,j); or several, of
 * which some are added up and others follow each other, as in a convolution.
 *
 * The shape, the tile, where matrices are, their strides and the logarithms of the bytes of elements are defined when it is
 * compiled, and the streams of each: operands may have several banks, of which a level chooses by the remainder of its coordinate.
 */
#include "spatial.h"
#include "product.h"

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* Moves one bank of a tile, `rows` x `columns` of which `rows_there` x `columns_there` are in memory. */
static void move(const struct bank *bank, uint32_t address, uint32_t rows_there, uint32_t columns_there)
{
    const struct matrix *matrix = &matrices[bank->matrix];
    const uint32_t memory = bank->stores ? SPATIAL_FOR_DST : SPATIAL_FOR_SRC;
    const uint32_t other = bank->stores ? SPATIAL_FOR_SRC : SPATIAL_FOR_DST;
    const uint32_t there[2] = { rows_there, columns_there }, strides[2] = { matrix->pitch, matrix->step };

    if (bank->stores)
        spatial_set_src_and_dst(bank->stream, SPATIAL_MEMORY);
    else
        spatial_set_src_and_dst(SPATIAL_MEMORY, bank->stream);
    spatial_set_constant(SPATIAL_ELEMENT, matrix->size);
    for (uint32_t axis = 0; axis < 2; ++axis) {
        const uint32_t dimension = bank->order[1 - axis];
        const uint32_t count = bank->order[bank->level] == dimension ? bank->count : 1;
        const uint32_t first = count > 1 ? bank->nth : 0;
        const uint32_t inside = there[dimension] > first ? (there[dimension] - first + count - 1) / count : 0;
        address += first * strides[dimension] << matrix->size;
        spatial_set_span(memory, axis, inside);
        spatial_set_span(other, axis, bank->extents[1 - axis]);
        spatial_set_data_stride(memory, axis, (int32_t)(strides[dimension] * count));
    }
    spatial_set_address(memory, address);
    spatial_issue();
}

/* Moves the tile of a matrix that begins at a row and a column, and so many elements further on, bank by bank. */
static void tile(uint32_t which, uint32_t further, uint32_t row, uint32_t column, uint32_t rows_there, uint32_t columns_there)
{
    const struct matrix *matrix = &matrices[which];
    const uint32_t address = matrix->address + ((row * matrix->pitch + column * matrix->step + further) << matrix->size);
    for (uint32_t n = 0; n < sizeof banks / sizeof banks[0]; ++n)
        if (banks[n].matrix == which)
            move(&banks[n], address, rows_there, columns_there);
}

__attribute__((section(".start"), used)) void _start(void)
{
    spatial_set_constant(SPATIAL_PARTS, (TERMS + TILE_TERMS - 1) / TILE_TERMS * TAPS);
    for (uint32_t group = 0; group < GROUPS; ++group)
        for (uint32_t i = 0; i < ROWS; i += TILE_ROWS)
            for (uint32_t j = 0; j < COLUMNS; j += TILE_COLUMNS) {
                const uint32_t height = least(TILE_ROWS, ROWS - i), width = least(TILE_COLUMNS, COLUMNS - j);
                for (uint32_t tap = 0; tap < TAPS; ++tap)
                    for (uint32_t k = 0; k < TERMS; k += TILE_TERMS) {
                        const uint32_t depth = least(TILE_TERMS, TERMS - k);
                        tile(0, group * GROUP_A + tap * TAP_A, i, k, height, depth);
                        tile(1, tap * TAP_B, k, j, depth, width);
                    }
                tile(2, group * GROUP_C, i, j, height, width);
            }
    (void)spatial_fence();
    __asm__ volatile("ebreak");
    for (;;)
        ;
}
