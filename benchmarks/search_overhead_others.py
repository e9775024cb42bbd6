"""Other systems on the work of `search_overhead`: run by their own interpreter, which need not have EvoEngineer.

PYTHON search_overhead_others.py evotoolkit|openevolve URL TRIALS FOLDER
"""

import json
import logging
import sys
import time
import zlib
from pathlib import Path

WORKERS = 4
START = "#include <torch/extension.h>\n__global__ void scale(const float* x) {}\nPYBIND11_MODULE(a, m) {}\n"


def run_evotoolkit(url: str, trials: int, folder: str) -> str:
    import http.client
    from importlib.metadata import version

    from evotoolkit.core.runner import Runner
    from evotoolkit.core.types import EvaluationResult, TaskSpec
    from evotoolkit.proposers.chat import ChatProposer
    from evotoolkit.strategies import EvoEngineerStrategy
    from evotoolkit.tools import llm

    # Its client speaks TLS only; the endpoint is plain HTTP, which is in its favour.
    llm.http.client.HTTPSConnection = http.client.HTTPConnection
    spec = TaskSpec("toy", "Scale a vector with a CUDA kernel, as fast as possible.", "cuda", "kernel.cu")

    class Trivial:
        def __init__(self) -> None:
            self.spec = spec

        def evaluate(self, files: dict[str, str]) -> EvaluationResult:
            return EvaluationResult(True, float(zlib.crc32(files["kernel.cu"].encode()) % 1000), "fine")

    runner = Runner(
        evaluator=Trivial(),
        proposer=ChatProposer(llm.HttpsApi(url + "/chat/completions", "none", "fake")),
        strategy=EvoEngineerStrategy(spec),
        output_dir=folder,
        budget=trials,
        propose_workers=WORKERS,
        eval_workers=WORKERS,
        verbose=False,
    )
    runner.run()
    assert runner.samples == trials, runner.samples
    return f"evotoolkit {version('evotoolkit')}"


def run_openevolve(url: str, trials: int, folder: str) -> str:
    from importlib.metadata import version

    from openevolve.api import run_evolution
    from openevolve.config import Config, LLMModelConfig

    logging.disable(logging.CRITICAL)
    (Path(folder) / "start.cu").write_text(START)
    (Path(folder) / "evaluator.py").write_text(
        "import zlib\ndef evaluate(path):\n"
        "    return {'combined_score': zlib.crc32(open(path, 'rb').read()) % 1000 / 1000}\n"
    )
    config = Config()
    config.language = "cuda"
    config.file_suffix = ".cu"
    config.diff_based_evolution = False
    config.max_iterations = trials
    model = LLMModelConfig(
        api_base=url,
        api_key="none",
        name="fake",
        timeout=60,
        retries=0,
        retry_delay=0,
        temperature=1.0,
        max_tokens=4096,
    )
    config.llm.models = [model]
    config.llm.evaluator_models = [model]
    config.evaluator.cascade_evaluation = False
    config.evaluator.parallel_evaluations = WORKERS
    run_evolution(
        str(Path(folder) / "start.cu"),
        str(Path(folder) / "evaluator.py"),
        config,
        trials,
        str(Path(folder) / "out"),
    )
    return f"openevolve {version('openevolve')}"


def main() -> None:
    system, url, trials, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    started = time.perf_counter()
    name = {"evotoolkit": run_evotoolkit, "openevolve": run_openevolve}[system](url, trials, folder)
    print(json.dumps({"name": name, "trials": trials, "seconds": time.perf_counter() - started}))


if __name__ == "__main__":
    main()
