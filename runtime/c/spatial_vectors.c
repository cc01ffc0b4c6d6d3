/* What an array gives whose elements meet in vectors, part by part: the fibers of two operands, each a tensor without zeros of
 * pairs of elements whose coordinates are places, and the sums of all places.
 *
 * The parts, and where arrays lie, are defined when it is compiled.
 */
#include "spatial.h"
#include "vectors.h"

__attribute__((section(".start"), used)) void _start(void)
{
    uint32_t result = RESULT;

    for (uint32_t part = 0; part < sizeof(parts) / sizeof(parts[0]); ++part) {
        for (uint32_t side = 0; side < 2; ++side) {
            const struct operand *operand = &operands[side];
            spatial_set_src_and_dst(SPATIAL_MEMORY, operand->stream);
            spatial_set_constant(SPATIAL_ELEMENT, operand->size);
            spatial_set_axis_type(SPATIAL_FOR_BOTH, 0, SPATIAL_COMPRESSED);
            spatial_set_metadata_address(SPATIAL_FOR_SRC, 0, operand->segments + parts[part].segments[side]);
            spatial_set_metadata_address(SPATIAL_FOR_SRC, 1, operand->coordinates);
            spatial_set_address(SPATIAL_FOR_SRC, operand->values);
            spatial_issue();
        }
        spatial_set_src_and_dst(STREAM, SPATIAL_MEMORY);
        spatial_set_constant(SPATIAL_ELEMENT, SIZE);
        spatial_set_address(SPATIAL_FOR_DST, result);
        spatial_set_span(SPATIAL_FOR_DST, 0, parts[part].sums);
        spatial_set_span(SPATIAL_FOR_SRC, 0, PLACES);
        spatial_set_data_stride(SPATIAL_FOR_DST, 0, 1);
        spatial_issue();
        result += parts[part].sums << SIZE;
    }
    (void)spatial_fence();
    __asm__ volatile("ebreak");
    for (;;)
        ;
}
