/* A product C = A B of matrices without zeros, tile by tile, from memory outside to memory outside, for an array of
 * C(i,j) = A(i,k) * B(k,j) whose buffers are compressed. Each tile is one request: its segments say how many coordinates and
 * values there are, and where.
 *
 * How many tiles there are, the streams and where arrays lie are defined when it is compiled.
 */
#include "spatial.h"
#include "product.h"

/* Moves a tile of a matrix: its segments are of this tile, coordinates and values of the first one. */
static void tile(uint32_t which, uint32_t number)
{
    const struct matrix *matrix = &matrices[which];
    const uint32_t memory = matrix->stores ? SPATIAL_FOR_DST : SPATIAL_FOR_SRC;

    if (matrix->stores)
        spatial_set_src_and_dst(matrix->stream, SPATIAL_MEMORY);
    else
        spatial_set_src_and_dst(SPATIAL_MEMORY, matrix->stream);
    spatial_set_constant(SPATIAL_ELEMENT, matrix->size);
    spatial_set_axis_type(SPATIAL_FOR_BOTH, 0, SPATIAL_COMPRESSED);
    spatial_set_metadata_address(memory, 0, matrix->segments + number * matrix->fibers * 4u);
    spatial_set_metadata_address(memory, 1, matrix->coordinates);
    spatial_set_address(memory, matrix->values);
    spatial_issue();
}

__attribute__((section(".start"), used)) void _start(void)
{
    spatial_set_constant(SPATIAL_PARTS, TILES_OF_TERMS);
    spatial_set_constant(SPATIAL_RESTART, 0);
    for (uint32_t i = 0, done = 0; i < TILES_OF_ROWS; ++i)
        for (uint32_t j = 0; j < TILES_OF_COLUMNS; ++j, ++done)
            for (uint32_t k = 0; k < TILES_OF_TERMS; ++k) {
                tile(0, i * TILES_OF_TERMS + k);
                tile(1, j * TILES_OF_TERMS + k);
                /* A result is asked for when the next operands are under way. */
                if (k == 0 && done > 0)
                    tile(2, done - 1);
            }
    tile(2, TILES_OF_ROWS * TILES_OF_COLUMNS - 1);
    (void)spatial_fence();
    __asm__ volatile("ebreak");
    for (;;)
        ;
}
