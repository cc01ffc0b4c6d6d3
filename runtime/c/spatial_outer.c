/* A product C = A B of sparse matrices in two phases, or one of them: A lies by columns, B by rows, as segments and pairs of a
 * coordinate and a value; partial products P are linked lists in memory, and become rows C there. Of P and C a table names the
 * first node of each row.
 *
 * What is asked for, and where it lies, is defined when it is compiled.
 */
#include "spatial.h"
#include "product.h"

__attribute__((section(".start"), used)) void _start(void)
{
    for (uint32_t nth = 0; nth < sizeof(tensors) / sizeof(tensors[0]); ++nth) {
        const struct tensor *tensor = &tensors[nth];
        spatial_set_src_and_dst(tensor->source, tensor->destination);
        spatial_set_constant(SPATIAL_ELEMENT, 2);
        spatial_set_axis_type(SPATIAL_FOR_BOTH, 0, tensor->type);
        for (uint32_t array = 0; array < tensor->before; ++array)
            spatial_set_metadata_address(tensor->memory, array, tensor->arrays[array]);
        spatial_set_address(tensor->memory, tensor->values);
        spatial_set_span(SPATIAL_FOR_BOTH, 1, tensor->fibers);
        spatial_issue();
    }
    (void)spatial_fence();
    __asm__ volatile("ebreak");
    for (;;)
        ;
}
