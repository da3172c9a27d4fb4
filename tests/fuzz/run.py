"""Run the atheris targets of this folder, one after the other, and say what each one did.

``python tests/fuzz/run.py --minutes 10`` gives each target ten minutes; a target that found something leaves
the input in the corpus folder, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import re
import runpy
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_HERE = Path(__file__).resolve().parent
TARGETS = sorted(path.stem for path in _HERE.glob("fuzz_*.py"))


def fuzz(path: str) -> None:
    """Hand the target in the file ``path`` to libFuzzer with the arguments of this process; never returns."""
    import atheris  # type: ignore[import-untyped]  # has no stubs

    # The target was imported to get here, so the package is in memory without instrumentation: read it again.
    for name in [name for name in sys.modules if name.partition(".")[0] == "msmq_wire"]:
        del sys.modules[name]
    with atheris.instrument_imports(include=["msmq_wire"]):
        target = runpy.run_path(path)["test_one_input"]
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()


def _run(target: str, seconds: int, corpus: Path) -> bool:
    """Run one target; True when it found nothing."""
    seeds: dict[str, list[bytes]] = runpy.run_path(str(_HERE / "seeds.py"))["seeds"]()
    folder = corpus / target
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds[target]):
        (folder / f"seed_{number:04}").write_bytes(seed)
    command = [
        sys.executable,
        str(_HERE / f"{target}.py"),
        f"-max_total_time={seconds}",
        "-rss_limit_mb=1024",
        "-timeout=10",
        "-max_len=4096",
        "-print_final_stats=1",
        f"-artifact_prefix={corpus / target}_",
        str(folder),
    ]
    log = corpus / f"{target}.log"
    start = time.monotonic()
    with log.open("wb") as output:
        status = subprocess.run(command, stdout=output, stderr=output, check=False).returncode
    text = log.read_text(encoding="utf-8", errors="replace")
    executed = re.search(r"number_of_executed_units:\s*(\d+)", text) or re.search(r"Done (\d+) runs", text)
    runs = int(executed[1]) if executed else 0
    outcome = "nothing found" if status == 0 else f"exit status {status}, see {log}"
    print(f"{target}: {runs:,} executions in {time.monotonic() - start:.0f} s, {outcome}", flush=True)
    return status == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*", default=TARGETS, help="names of targets, all by default")
    parser.add_argument("--minutes", type=float, default=1.0, help="for each target")
    parser.add_argument("--corpus", type=Path, help="folder that keeps the inputs; default: temporary")
    options = parser.parse_args()
    unknown = set(options.targets) - set(TARGETS)
    if unknown:
        parser.error(f"no target is called {', '.join(sorted(unknown))}: there are {', '.join(TARGETS)}")
    corpus = options.corpus or Path(tempfile.mkdtemp(prefix="msmq-wire-fuzz-"))
    results = [_run(target, int(options.minutes * 60), corpus) for target in options.targets]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
