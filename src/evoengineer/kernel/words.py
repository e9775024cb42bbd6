"""What a text's words ask for: parts of the lean headers, and standard headers that torch would have brought along.

The real torch/extension.h includes half of the standard library, and published kernels rely on it. Including all
of it would double the time of a build, so only what the text mentions is switched on, comments and strings
aside. A word too many costs milliseconds; one too few would be an error that PyTorch does not have.
"""

import re
from dataclasses import dataclass

from evoengineer.kernel.text import normalised

# (macro of evo/config.h, words that ask for it)
_PARTS = (
    (
        "STRING",
        r"\bstring\b|\bto_string\b|\btoString\b|\bstr\(|stringstream|\bstring_view\b|runtime_error|\bwhat\("
        r"|DeviceTypeName|\b(?:Index|Value|Type|NotImplemented)Error\b",
    ),
    ("VECTOR", r"\bvector\b|TensorList|\bvec\(|\bunbind\b|\bsplit\b|\bchunk\b|DimVector"),
    ("TUPLE", r"\b(?:make_|forward_as_|\w*\.)?tuple\b|make_tuple|\btie\b|tuple_"),
    ("OPTIONAL", r"optional|nullopt|device_of|Optional"),
    ("ARRAY", r"\barray\b"),
    ("MAP", r"\b(?:unordered_)?map\b"),
    ("HALF", r"\bHalf\b|kHalf|HALF|BFloat16|BFLOAT16|Float16|Float8|REDUCED"),
    ("COMPLEX", r"omplex|COMPLEX"),
    ("ACCESSOR", r"ccessor|PtrTraits"),
    ("INDEXING", r"indexing|\.index\(\s*\{"),
    ("CHECKS", r"\bTensorArg\b"),
    ("STREAMS", r"\bc(?:out|err|log)\b|stringstream|ostream"),
    (
        "OBJECTS",
        r"\b(?:py|pybind11)::(?!arg\b|literals|gil_|module|call_guard|return_value_policy|kw_only|pos_only|overload)",
    ),
)
_HEADERS = (
    ("cuda_fp16.h", r"cuda_fp16|__half|__\w*2half|__h(?:add|mul|fma|sub|div|lt|gt|max|min)|\bh(?:exp|log|r?sqrt)\("),
    ("cuda_fp16.h", r"\bhalf2?(?:\s+[A-Za-z_]|\s*[*&({])|\(half2?\)\s*[\w(]|sizeof\(half|=\s*half2?\s*;"),
    ("cuda_fp16.h", r"[<,]\s*(?:const\s+)?half2?\s*[>,]"),
    ("cuda_bf16.h", r"cuda_bf16|nv_bfloat16|__\w*2bfloat16|__bfloat16"),
    ("evo/cub.h", r"\bcub::(?:Sum|Difference|Max|Min|Equality|LaneId)\b"),
    ("evo/irange.h", r"\birange\s*\("),
    ("algorithm", r"std::(?:sort|fill|copy|transform|any_of|all_of|find|reverse|clamp|max_element|min_element)\b"),
    ("algorithm", r"std::(?:minmax|partial_sort|nth_element|lower_bound|upper_bound|stable_sort|count)\b"),
    ("algorithm", r"std::(?:generate|replace|rotate|unique)\b"),
    ("algorithm", r"std::(?:min|max)\s*(?:<\w+>)?\s*\(\s*\{"),
    ("evo/basics.h", r"std\s*::\s*(?:min|max|(?:iter_)?swap(?:_ranges)?|copy\w*|move_backward|fill\w*|equal)\b"),
    ("evo/basics.h", r"std\s*::\s*(?:distance|advance|next|prev|\w*inserter|\w*iterator\w*)\b"),
    ("evo/basics.h", r"std\s*::\s*(?:lexicographical_compare|mismatch)\b"),
    ("iterator", r"std\s*::\s*(?:c?r?(?:begin|end)|size|data|empty)\b"),
    ("cstdint", r"std::u?int\w*_t\b"),
    ("math_constants.h", r"\bCUDART_\w+"),
    ("ctime", r"std::time\b|\btime\s*\(|\bclock_gettime\b"),
    ("numeric", r"std::(?:accumulate|iota|inner_product|partial_sum|reduce|gcd|lcm)\b"),
    ("functional", r"std::(?:function|multiplies|plus|minus|greater|less|hash|bind|reference_wrapper|ref|cref)\b"),
    ("iostream", r"std::(?:cout|cerr|clog|cin|endl|ostream)\b|\bcout\b|\bcerr\b"),
    ("sstream", r"stringstream"),
    ("iomanip", r"std::(?:setw|setprecision|setfill|fixed)\b"),
    ("memory", r"std::(?:allocator|unique_ptr|shared_ptr|make_unique|make_shared|weak_ptr)\b"),
    ("stdexcept", r"std::(?:runtime_error|invalid_argument|logic_error|out_of_range|domain_error|length_error)\b"),
    ("mutex", r"std::(?:mutex|lock_guard|unique_lock|call_once|once_flag|scoped_lock)\b"),
    ("atomic", r"std::(?:atomic|memory_order)"),
    ("thread", r"std::(?:thread|this_thread)"),
    ("chrono", r"std::chrono"),
    ("complex", r"std::complex"),
    ("random", r"std::(?:mt19937|random_device|uniform_|normal_distribution)"),
    ("set", r"std::(?:multi)?set\b"),
    ("unordered_set", r"std::unordered_set\b"),
    ("deque", r"std::(?:deque|queue)\b"),
    ("queue", r"std::(?:priority_)?queue\b"),
    ("list", r"std::list\b"),
    ("bitset", r"std::bitset\b"),
    ("limits", r"numeric_limits"),
    ("cfloat", r"\b(?:FLT|DBL)_\w+"),
    ("climits", r"\b(?:INT|LONG|LLONG|UINT|SHRT|CHAR|ULLONG)_(?:MAX|MIN)\b"),
    ("cassert", r"\bassert\s*\("),
    ("cstdio", r"\bf?printf\s*\(|stderr|stdout"),
    ("cstring", r"\bmem(?:cpy|set|move|cmp)\s*\(|\bstr(?:len|cmp|ncmp)\s*\("),
    ("cstdlib", r"\b(?:malloc|free|exit|abort|getenv|atoi)\s*\("),
    ("cmath", r"\bM_PI|INFINITY|\bNAN\b|std::(?:exp|log|sqrt|pow|abs|floor|ceil|isnan|isinf|round|tanh|erf)"),
)  # fmt: skip

_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_PART_WORDS = tuple((name, re.compile(words)) for name, words in _PARTS)
_HEADER_WORDS = tuple((name, re.compile(words)) for name, words in _HEADERS)
_TORCH = re.compile(r'#\s*include\s*[<"](?:(?:torch|ATen|c10|THC|pybind11)/|Python\.h)')
_TORCH_NAMES = re.compile(r"\b(?:torch|at|c10)::\w|\bTORCH_CHECK\b|\bPYBIND11_MODULE\b")
_SIZED = re.compile(r"\bu?int(?:8|16|32|64|ptr)_t\b")
# The special functions of C++17's <cmath>, which every build would read and nobody calls; who says so names them.
_SPECIAL = re.compile(
    r"\bnamespace\s+(?:\w+\s*=\s*)?(?:::\s*)?std\b|std\s*::\s*(?:assoc_(?:laguerre|legendre)|beta|(?:comp_)?ellint_\d"
    r"|cyl_\w+|expint|hermite|laguerre|legendre|riemann_zeta|sph_\w+)[fl]?\b"
)
_REMOVED = re.compile(r"\bcudaThread(?:Synchronize|Exit)\b")


@dataclass(frozen=True, slots=True)
class Needs:
    """`parts` are macros of evo/config.h without EVO_WITH_; `headers` are included before the text."""

    parts: tuple[str, ...]
    headers: tuple[str, ...]
    removed_calls: bool  # calls that CUDA 13 no longer declares
    special_functions: bool


def needs_of(source: str) -> Needs:
    source = _code(source)
    parts = tuple(name for name, words in _PART_WORDS if words.search(source))
    headers = tuple(dict.fromkeys(name for name, words in _HEADER_WORDS if words.search(source)))
    includes_torch = _TORCH.search(source) is not None
    # PyTorch's load_inline puts the include in front by itself, so texts written for it have none.
    implied = ("torch/extension.h",) if not includes_torch and _TORCH_NAMES.search(source) else ()
    for_torch = includes_torch or bool(implied)
    brought = headers + implied if for_torch else ()
    if not brought and _SIZED.search(source):
        brought = ("stdint.h",)  # which cuda_runtime.h brought along before CUDA 13
    special = not for_torch or _SPECIAL.search(source) is not None
    return Needs(parts, brought, _REMOVED.search(source) is not None, special)


def _code(source: str) -> str:
    """Without comments, and without strings but for those of directives."""
    lines = normalised(source).split("\n")
    return "\n".join(line if line.startswith("#") else _STRING.sub('""', line) for line in lines)
