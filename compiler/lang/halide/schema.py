"""The tables of a serialized Halide pipeline: what the fields are called and how they are stored.

`TABLES` gives the fields of every table in their order in the file, `ENUMS` the names of the values from 0 on,
`UNIONS` those of the tables that a field of this type may hold (0: nothing). Tables that a pipeline never holds
(statements of lowered code) are left out.

Source:  src/halide_ir.fbs of Halide 21 (MIT licence), serialization version 18.0.1; FlatBuffers internals.
"""

from __future__ import annotations

VERSION = "18.0.1"

_FIELDS = {
    "Pipeline": "funcs:[Func] output_names:[string] requirements:[Stmt] func_names_in_order:[string] "
                "parameters:[Parameter] external_parameters:[ExternalParameter] buffers:[Buffer] "
                "halide_version:string serialization_version:string",
    "Func": "name:string origin_name:string output_types:[Type] required_types:[Type] required_dims:int32 args:[string] "
            "func_schedule:FuncSchedule init_def:Definition updates:[Definition] debug_file:string "
            "output_buffers_names:[string] extern_arguments:[ExternFuncArgument] extern_function_name:string "
            "extern_mangling:uint8 extern_function_device_api:int8 extern_proxy_expr:Expr trace_loads:bool "
            "trace_stores:bool trace_realizations:bool trace_tags:[string] no_profiling:bool frozen:bool",
    "Definition": "is_init:bool predicate:Expr values:[Expr] args:[Expr] stage_schedule:StageSchedule "
                  "specializations:[Specialization] source_location:string",
    "Specialization": "condition:Expr definition:Definition failure_message:string",
    "FuncSchedule": "store_level:LoopLevel compute_level:LoopLevel hoist_storage_level:LoopLevel "
                    "storage_dims:[StorageDim] bounds:[Bound] estimates:[Bound] wrappers:[WrapperRef] "
                    "memory_type:MemoryType memoized:bool async:bool ring_buffer:Expr memoize_eviction_key:Expr",
    "StageSchedule": "rvars:[ReductionVariable] splits:[Split] dims:[Dim] prefetches:[PrefetchDirective] "
                     "fuse_level:FuseLoopLevel fused_pairs:[FusedPair] touched:bool allow_race_conditions:bool "
                     "atomic:bool override_atomic_associativity_test:bool",
    "FuseLoopLevel": "fuse_level:LoopLevel",
    "LoopLevel": "func_name:string stage_index:int32 var_name:string is_rvar:bool locked:bool",
    "StorageDim": "var:string alignment:Expr bound:Expr fold_factor:Expr fold_forward:bool",
    "Bound": "var:string min:Expr extent:Expr modulus:Expr remainder:Expr",
    "WrapperRef": "func_name:string func_index:int32",
    "Split": "old_var:string outer:string inner:string factor:Expr exact:bool tail:uint8 split_type:SplitType",
    "Dim": "var:string for_type:ForType device_api:int8 dim_type:uint8 partition_policy:int8",
    "ReductionVariable": "var:string min:Expr extent:Expr",
    "ReductionDomain": "defined:bool domain:[ReductionVariable] predicate:Expr frozen:bool",
    "Parameter": "defined:bool is_buffer:bool type:Type dimensions:int32 name:string host_alignment:int32 "
                 "buffer_constraints:[BufferConstraint] memory_type:MemoryType scalar_data:uint64 scalar_default:Expr "
                 "scalar_min:Expr scalar_max:Expr scalar_estimate:Expr",
    "ExternalParameter": "is_buffer:bool type:Type dimensions:int32 name:string",
    "Buffer": "defined:bool name:string type:Type dimensions:int32 dims:[BufferDimension] data:[uint8]",
    "BufferDimension": "min:int32 extent:int32 stride:int32",
    "Type": "code:TypeCode bits:uint8 lanes:int32",
    "IntImm": "value:int64 type:Type",
    "UIntImm": "value:uint64 type:Type",
    "FloatImm": "value:float64 type:Type",
    "StringImm": "value:string",
    "Cast": "value:Expr type:Type",
    "Reinterpret": "value:Expr type:Type",
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or"),
                    "a:Expr b:Expr"),
    "Not": "a:Expr",
    "Select": "condition:Expr true_value:Expr false_value:Expr",
    "Load": "name:string predicate:Expr index:Expr image_name:string param_name:string",
    "Ramp": "base:Expr stride:Expr lanes:int32",
    "Broadcast": "value:Expr lanes:int32",
    "Let": "name:string value:Expr body:Expr",
    "Call": "name:string args:[Expr] call_type:CallType func_index:int32 value_index:int32 image_name:string "
            "param_name:string type:Type",
    "Variable": "name:string type:Type param_name:string image_name:string reduction_domain:ReductionDomain",
    "Shuffle": "vectors:[Expr] indices:[int32]",
    "VectorReduce": "value:Expr reduction_op:uint8 lanes:int32",
    "UndefinedExpr": "",
}

TABLES = {table: dict(field.split(":") for field in fields.split()) for table, fields in _FIELDS.items()}

UNIONS = {
    "Expr": ("", "IntImm", "UIntImm", "FloatImm", "StringImm", "Cast", "Reinterpret", "Add", "Sub", "Mul", "Div", "Mod",
             "Min", "Max", "EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or", "Not", "Select", "Load", "Ramp", "Broadcast",
             "Let", "Call", "Variable", "Shuffle", "VectorReduce", "UndefinedExpr"),
    # The statements of lowered code; a pipeline holds them as requirements, which the reader refuses unread.
    "Stmt": (),
}

ENUMS = {
    "TypeCode": ("int", "uint", "float", "handle", "bfloat"),
    "CallType": ("Image", "Extern", "ExternCPlusPlus", "PureExtern", "Halide", "Intrinsic", "PureIntrinsic"),
    "ForType": ("serial", "parallel", "vectorized", "unrolled", "extern", "gpu_block", "gpu_thread", "gpu_lane"),
    "MemoryType": ("auto", "heap", "stack", "register", "gpu_shared", "gpu_texture", "locked_cache", "vtcm", "amx_tile"),
    "SplitType": ("split", "rename", "fuse"),
}

# Scalars as the struct module writes them; enumerations are one byte.
SCALARS = {"bool": "<?", "int8": "<b", "uint8": "<B", "int32": "<i", "int64": "<q", "uint64": "<Q", "float64": "<d",
           **dict.fromkeys(ENUMS, "<B")}
