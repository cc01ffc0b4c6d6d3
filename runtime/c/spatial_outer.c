/* A product C = A B of sparse matrices in two phases: partial products go to memory as linked lists, and become rows there. A lies
 * by columns, B by rows, as segments and pairs of a coordinate and a value; of C a table names the node of each row.
 *
 * Where arrays lie is defined when it is compiled.
 */
#include "spatial.h"
#include "product.h"

/* Asks for a tensor of so many fibers. */
static void tensor(uint32_t source, uint32_t destination, uint32_t memory, uint32_t type, uint32_t address, uint32_t fibers)
{
    spatial_set_src_and_dst(source, destination);
    spatial_set_constant(SPATIAL_ELEMENT, 2);
    spatial_set_axis_type(SPATIAL_FOR_BOTH, 0, type);
    spatial_set_address(memory, address);
    spatial_set_span(SPATIAL_FOR_BOTH, 1, fibers);
}

__attribute__((section(".start"), used)) void _start(void)
{
    tensor(SPATIAL_MEMORY, SPATIAL_STREAM_A, SPATIAL_FOR_SRC, SPATIAL_COMPRESSED, LEFT, TERMS);
    spatial_set_metadata_address(SPATIAL_FOR_SRC, 0, COLUMNS);
    spatial_issue();
    tensor(SPATIAL_MEMORY, SPATIAL_STREAM_B, SPATIAL_FOR_SRC, SPATIAL_COMPRESSED, RIGHT, TERMS);
    spatial_set_metadata_address(SPATIAL_FOR_SRC, 0, ROWS);
    spatial_issue();
    tensor(SPATIAL_STREAM_C, SPATIAL_MEMORY, SPATIAL_FOR_DST, SPATIAL_LINKED_LIST, TABLE, HEIGHT);
    /* Where nodes may be. */
    spatial_set_metadata_address(SPATIAL_FOR_DST, 0, FREE);
    spatial_set_metadata_address(SPATIAL_FOR_DST, 1, END);
    spatial_issue();
    (void)spatial_fence();
    __asm__ volatile("ebreak");
    for (;;)
        ;
}
