"""The rule of the contract that a compiler cannot state: a candidate computes by itself.

Library headers and names are found in the text before anything is compiled; PyTorch's operations are not
declared by the lean headers, so that the compiler finds them, and here its message becomes the rule's.
"""

import re
from collections.abc import Sequence

from evoengineer.kernel.diagnostics import Diagnostic
from evoengineer.kernel.text import normalised

HINT = "library operations are not available: write it as a CUDA kernel"

# Functions and methods of PyTorch that compute; a trailing underscore is stripped before the look-up.
_OPERATIONS = frozenset(
    """
    abs absolute acos acosh adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d
    adaptive_max_pool2d adaptive_max_pool3d add addbmm addcdiv addcmul addmm addmv addr affine_grid_generator
    all allclose alpha_dropout amax amin aminmax angle any argmax argmin argsort argwhere asin asinh atan atan2
    atanh avg_pool1d avg_pool2d avg_pool3d baddbmm bartlett_window batch_norm bernoulli bilinear
    binary_cross_entropy binary_cross_entropy_with_logits bincount bitwise_and bitwise_not bitwise_or
    bitwise_xor blackman_window bmm broadcast_tensors broadcast_to bucketize cartesian_prod cat cdist ceil celu
    chain_matmul cholesky clamp clamp_max clamp_min clip col2im column_stack combinations complex concat
    concatenate conj constant_pad_nd conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
    convolution copysign corrcoef cos cosh cosine_embedding_loss cosine_similarity count_nonzero cov cross
    cross_entropy cross_entropy_loss ctc_loss cummax cummin cumprod cumsum deg2rad det diag diag_embed diagflat
    diagonal diff digamma dist div divide dot dropout dropout2d dropout3d dsplit dstack einsum elu embedding
    embedding_bag empty_quantized eq equal erf erfc erfinv exp exp2 expm1 exponential eye fft fft_fft fft_ifft
    fft_rfft fft_irfft flip fliplr flipud float_power floor floor_divide fmax fmin fmod frac frexp
    frobenius_norm full_quantized functional gather gcd ge gelu geometric ger glu greater greater_equal
    grid_sample grid_sampler group_norm gru gru_cell gt hamming_window hann_window hardshrink hardsigmoid
    hardswish hardtanh heaviside hinge_embedding_loss histc histogram hsplit hstack huber_loss hypot i0 im2col
    index index_add index_copy index_fill index_put index_reduce index_select inner instance_norm
    interpolate inverse isclose isfinite isin isinf isnan isneginf isposinf kl_div kron kthvalue l1_loss
    layer_norm lcm le leaky_relu lerp less less_equal lgamma linalg linear linspace log log10 log1p log2
    log_normal log_sigmoid log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and logical_not
    logical_or logical_xor logit logspace logsumexp lstm lstm_cell lt lu margin_ranking_loss masked_fill
    masked_scatter masked_select matmul matrix_exp matrix_power max max_pool1d max_pool2d max_pool2d_with_indices
    max_pool3d max_pool3d_with_indices maximum mean median meshgrid min minimum mish mm mode mse_loss mul
    multi_margin_loss multilabel_margin_loss multinomial multiply mv mvlgamma nan_to_num nanmean nanmedian
    nanquantile nansum narrow_copy native_batch_norm native_group_norm native_layer_norm ne neg negative nextafter
    nll_loss nll_loss2d nn nonzero norm norm_except_dim normal not_equal nuclear_norm one_hot orgqr ormqr outer
    pad pairwise_distance pdist pinverse pixel_shuffle pixel_unshuffle poisson poisson_nll_loss polar polygamma
    pow prelu prod put qr quantile rad2deg rand rand_like randint randint_like randn randn_like random randperm
    ravel reciprocal reflection_pad1d reflection_pad2d relu relu6 remainder renorm repeat repeat_interleave
    replication_pad1d replication_pad2d replication_pad3d resize_as rms_norm rnn_tanh rnn_relu roll rot90 round
    rrelu rsqrt rsub scaled_dot_product_attention scatter scatter_add scatter_reduce searchsorted segment_reduce
    selu sgn sigmoid sign signbit silu sin sinc sinh slice_scatter slogdet smooth_l1_loss soft_margin_loss
    softmax softmin softplus softshrink softsign sort sparse special sqrt square stack std std_mean sub subtract
    sum svd swapaxes swapdims take take_along_dim tan tanh tensordot threshold tile topk trace trapezoid tril
    tril_indices triplet_margin_loss triu triu_indices true_divide trunc unfold uniform unique
    unique_consecutive unique_dim upsample_bicubic2d upsample_bilinear2d upsample_nearest1d upsample_nearest2d
    upsample_nearest3d upsample_trilinear3d vander var var_mean vdot vsplit vstack weight_norm where xlogy
    getCurrentCUDABlasHandle getCurrentCUDABlasLtHandle getCurrentCUDASparseHandle getCudnnHandle blas native
    _softmax _log_softmax cudnn_convolution cudnn_batch_norm mkldnn_convolution thnn_conv2d
    """.split()
)
_HEADERS = re.compile(
    r"#\s*include\s*[<\"](?P<name>[^>\"]*(?:cublas|cudnn|cufft|cusolver|cusparse|curand\.h|nvblas|nccl|npp"
    r"|cutlass|cute/|cudss|cutensor|torch/nn|torch/csrc/api/include/torch/nn|ATen/cuda/CUDABlas|dlfcn\.h)[^>\"]*)[>\"]"
)
_RESERVED = re.compile(r"\bevo::|\bevo_\w*open\b|\bEvo(?:Host|Module|Value|Storage|Open)\b|#\s*include\s*[<\"]evo/")
_NO_MEMBER = re.compile(r'(?:namespace|class) "(?P<scope>[\w:]+)" has no member "(?P<name>\w+)"')
_NO_OPERATOR = re.compile(r'no operator "(?P<name>[^"]+)" matches these operands')
_QUALIFIED = re.compile(r"\b(?:torch|at|c10)::(?P<name>\w+)::")


def forbidden_in_text(source: str) -> tuple[Diagnostic, ...]:
    """Headers of libraries and names that belong to the harness."""
    if not (_HEADERS.search(source) or _RESERVED.search(source)):
        return ()
    found = []
    for number, line in enumerate(source.split("\n"), 1):
        code = normalised(line)
        header, reserved = _HEADERS.search(code), _RESERVED.search(code)
        if header:
            found.append(_refusal(number, source, f"{header['name']} is not available: {HINT}"))
        elif reserved:
            found.append(_refusal(number, source, f"{reserved[0].strip()} is reserved for the harness"))
    return tuple(found)


def forbidden_in(diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Of a compiler's errors, those that name an operation of PyTorch, with the hint."""
    found = []
    for diagnostic in diagnostics:
        name = _operation(diagnostic)
        if name:
            message = f"{name}: {HINT}"
            found.append(Diagnostic(diagnostic.file, diagnostic.line, diagnostic.column, "error", message, diagnostic.source_line))
    return tuple(found)


def _operation(diagnostic: Diagnostic) -> str:
    member = _NO_MEMBER.search(diagnostic.message)
    if member and member["scope"].split("::")[0] in ("torch", "at", "c10"):
        return f"{member['scope']}::{member['name']}" if member["name"].rstrip("_") in _OPERATIONS else ""
    operator = _NO_OPERATOR.search(diagnostic.message)
    if operator and "torch::Tensor" in diagnostic.message.replace("at::Tensor", "torch::Tensor"):
        return f"operator {operator['name']} on tensors"
    if "must be a class or namespace name" in diagnostic.message:
        for qualified in _QUALIFIED.finditer(diagnostic.source_line):
            if qualified["name"] in _OPERATIONS:
                return qualified[0].rstrip(":")
    return ""


def _refusal(line: int, source: str, message: str) -> Diagnostic:
    return Diagnostic("kernel.cu", line, 0, "error", message, source.split("\n")[line - 1].strip())
