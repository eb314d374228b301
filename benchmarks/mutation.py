"""How many small faults the tests notice: a seeded sample of mutants of masking, attacks, losses and scoring.

Run with `python benchmarks/mutation.py --sample 100 --seed 1`. A mutant changes one place of the source: an operator, a
constant, a condition, a bound, a statement that is dropped, a value that is returned. The tests that execute its line
run against it, in a copy of the tree in a temporary folder; when all of them pass, it has survived and is printed.
Mutants that behave like the original are named with their reasons in equivalent_mutants.txt and are not counted.

Why not a package: general tools start an interpreter per mutant and know nothing of which test executes which line, so
that 500 mutants take most of a day. Here every mutant is a fork of one process in which everything is loaded already:
the function it changes gets other code, and only the tests that execute the line are run, the quickest first. Which
tests these are is measured first, over all tests but those that start processes of their own; with `--keep-map` the
measurement of the last run is used again. The kernels in numerics are compiled and checked against plain
implementations instead; they are not sampled.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import filecmp
import functools
import gc
import importlib.util
import inspect
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PACKAGES = ("masking", "attacks", "losses", "scoring")
TESTS = (
    "masking",
    "attacks",
    "losses",
    "scoring",
    "comparison",
    "contracts",
    "golden",
    "published",
    "study",
    "reporting",
    "cli",
)
TESTS += ("test_battery.py", "test_parameters.py", "test_strengthening.py", "test_wrong_types.py")
TESTS += ("test_release_files.py", "test_registry.py", "test_units.py", "test_doors.py")
LEFT_OUT = ("test_limits.py", "test_seed_attacks.py")  # they start processes or take minutes
PAGES = "tests/test_docs.py::test_the_generated_pages_are_up_to_date"  # they show every parameter and its default
EQUIVALENT = HERE / "equivalent_mutants.txt"
SAID = ("logger.", "warnings.", "progress(", "part(", "first(", "second(")  # statements that only report
PRELOADED = "numpy scipy.stats scipy.optimize scipy.sparse numba pyarrow.csv pandas polars narwhals pydantic hypothesis"
ENOUGH_CALLS = 50  # of one function in one test: lines that run later only are rare

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES = dict(
    pair
    for one, other in (
        ("min", "max"),
        ("minimum", "maximum"),
        ("argmin", "argmax"),
        ("any", "all"),
        ("floor", "ceil"),
        ("zeros", "ones"),
        ("mean", "sum"),
        ("var", "std"),
        ("isnan", "isfinite"),
        ("left", "right"),
    )
    for pair in ((one, other), (other, one))
)


@dataclass(frozen=True)
class Mutant:
    """One change of one place: the bytes from start to end of the file are replaced."""

    path: str
    line: int
    start: int
    end: int
    text: str

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]

    def diff(self, source: bytes) -> tuple[str, str]:
        """The lines that change, before and after, each as one line."""
        first = source.rfind(b"\n", 0, self.start) + 1
        last = source.find(b"\n", self.end)
        after = source[first : self.start] + self.text.encode() + source[self.end : last]
        return " ".join(source[first:last].decode().split()), " ".join(after.decode().split())

    def key(self, source: bytes) -> str:
        """How equivalent_mutants.txt names it: without a line number, which every edit above would move."""
        before, after = self.diff(source)
        return f"{self.path}: {before} -> {after}"


class Places(ast.NodeVisitor):
    """Collects the mutants of one file; texts, types, messages and reports of progress are left alone."""

    def __init__(self, path: str, source: bytes) -> None:
        self.path, self.source = path, source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.found: list[Mutant] = []
        self.visit(ast.parse(source))

    def add(self, node: Any, text: str) -> None:
        start = self.starts[node.lineno - 1] + node.col_offset
        end = self.starts[node.end_lineno - 1] + node.end_col_offset
        if self.source[start:end].decode() != text:
            self.found.append(Mutant(self.path, node.lineno, start, end, text))

    def replace(self, node: Any, **changes: object) -> None:
        """The same node with other fields, in brackets, so that it stays one expression."""
        fields = {name: getattr(node, name) for name in node._fields} | changes
        self.add(node, f"({ast.unparse(type(node)(**fields))})")

    def each(self, *nodes: ast.AST | list[Any] | None) -> None:
        for node in nodes:
            for one in node if isinstance(node, list) else [node]:
                if one is not None:
                    self.visit(one)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.each(node.args.defaults, node.args.kw_defaults, node.body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.each(node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.each(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        self.add(node, "pass")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        return

    def visit_Expr(self, node: ast.Expr) -> None:
        text = ast.unparse(node)
        if not isinstance(node.value, ast.Constant | ast.Yield) and not text.startswith(SAID):
            self.add(node, "pass")
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if all(isinstance(target, ast.Subscript) for target in node.targets):
            self.add(node, "pass")
        self.each(node.targets, node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.add(node, "pass")
        if other := ARITHMETIC.get(type(node.op)):
            changed = ast.AugAssign(target=node.target, op=other(), value=node.value)
            self.add(node, ast.unparse(changed))
        self.visit(node.value)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.add(node, "return None")
            self.visit(node.value)

    def visit_Continue(self, node: ast.Continue) -> None:
        self.add(node, "break")

    def visit_Break(self, node: ast.Break) -> None:
        self.add(node, "continue")

    def visit_If(self, node: Any) -> None:
        if "TYPE_CHECKING" in ast.unparse(node.test):
            return
        self.add(node.test, f"(not ({ast.unparse(node.test)}))")
        self.generic_visit(node)

    visit_IfExp = visit_If  # noqa: N815

    def visit_Compare(self, node: ast.Compare) -> None:
        for i, op in enumerate(node.ops):
            for other in COMPARISONS[type(op)]:
                self.replace(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if other := ARITHMETIC.get(type(node.op)):
            self.replace(node, op=other())
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.replace(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        self.add(node, f"({ast.unparse(node.operand)})")
        self.visit(node.operand)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.add(node, str(not node.value))
        elif isinstance(node.value, int | float):
            self.add(node, f"{node.value + 1}")
            self.add(node, f"({node.value - 1})")
        elif node.value in ("left", "right"):
            self.add(node, repr(NAMES[node.value]))

    def visit_Call(self, node: ast.Call) -> None:
        if ast.unparse(node.func) in ("cast", "TypeVar", "super", "isinstance", "Part", "progress", "part"):
            return
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in NAMES:
            other = NAMES[name]
            func: ast.expr
            if isinstance(node.func, ast.Attribute):
                func = ast.Attribute(value=node.func.value, attr=other, ctx=ast.Load())
            else:
                func = ast.Name(id=other, ctx=ast.Load())
            self.add(node.func, ast.unparse(func))
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "strict":  # of zip: a check that two lists are of one length, which they are
            self.visit(node.value)

    def visit_Slice(self, node: ast.Slice) -> None:
        for bound in ("lower", "upper"):
            if getattr(node, bound) is not None:
                fields = {name: getattr(node, name) for name in node._fields} | {bound: None}
                self.add(node, ast.unparse(ast.Slice(**fields)))
        self.generic_visit(node)


def mutants(root: Path) -> list[Mutant]:
    """Every mutant of the four packages, file by file."""
    found = []
    for package in PACKAGES:
        for file in sorted((root / "src" / "microveil" / package).rglob("*.py")):
            found += Places(str(file.relative_to(root)), file.read_bytes()).found
    return found


class Tracer:
    """A pytest plugin that notes which lines of the four packages each test executes, and how long the test takes."""

    def __init__(self, root: Path) -> None:
        self.folders = tuple(str(root / "src" / "microveil" / package) for package in PACKAGES)
        self.root = root
        self.lines: set[tuple[str, int]] = set()
        self.calls: Counter[CodeType] = Counter()
        self.tests: dict[str, dict[str, Any]] = {}

    def call(self, frame: FrameType, event: str, arg: object) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(self.folders):
            return None
        self.calls[code] += 1
        return self.line if self.calls[code] <= ENOUGH_CALLS else None

    def line(self, frame: FrameType, event: str, arg: object) -> Any:
        self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self.line

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.lines.clear()
        self.calls.clear()
        self.passed = True
        began = time.process_time()
        try:
            return (yield)
        finally:
            by_file: dict[str, list[int]] = {}
            for path, number in self.lines:
                by_file.setdefault(str(Path(path).relative_to(self.root)), []).append(number)
            if self.passed and by_file:
                self.tests[item.nodeid] = {"seconds": time.process_time() - began, "lines": by_file}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        with self.traced():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        with self.traced():
            return (yield)

    @contextlib.contextmanager
    def traced(self) -> Iterator[None]:
        threading.settrace(self.call)
        sys.settrace(self.call)
        try:
            yield
        finally:
            sys.settrace(None)
            threading.settrace(None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed &= not (report.failed or report.skipped)


def forked(job: Any, limit: float) -> int | None:
    """The exit status of a job in a child of this process; None when it took more than so many seconds of processor."""
    child = os.fork()
    if child == 0:
        os.setsid()
        os.nice(5)  # mutants give way to other work
        resource.setrlimit(resource.RLIMIT_CPU, (round(limit), round(limit) + 1))
        status = 70
        try:
            status = int(job() or 0)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    until = time.monotonic() + 5 * limit  # a busy machine is no hang, but waiting forever is
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return None if code in (-signal.SIGXCPU, -signal.SIGKILL) else code
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


OPTIONS = ["-q", "-x", "--doctest-modules", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "--tb=line"]
OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # packages are imported before pytest starts


def test_files(scratch: Path) -> list[str]:
    """The files of tests and the modules with doctests, the longest first, so that workers share them evenly."""
    folder = scratch / "tests"
    files = [folder / name for name in TESTS if name.endswith(".py")]
    files += [file for name in TESTS for file in sorted((folder / name).glob("**/test_*.py"))]
    for package in PACKAGES:
        modules = sorted((scratch / "src" / "microveil" / package).rglob("*.py"))
        files += [file for file in modules if ">>> " in file.read_text()]
    kept = [file for file in files if file.name not in LEFT_OUT]
    return [str(file.relative_to(scratch)) for file in sorted(kept, key=lambda file: -file.stat().st_size)]


def measure(scratch: Path, file: str, into: Path) -> None:
    """Write down which lines each test of a file executes."""
    tracer = Tracer(scratch)
    pytest.main([*(option for option in OPTIONS if option != "-x"), file], plugins=[tracer])
    part = into.with_suffix(".part")
    part.write_text(json.dumps(tracer.tests))
    part.rename(into)


def tests_of(mutant: Mutant, known: dict[str, Any], functions: set[int], budgets: list[float]) -> list[list[str]]:
    """The tests that execute its line, unit tests and quick ones first; those of the file for lines run at import.

    They come in as many batches as there are budgets of seconds: a batch runs where the one before noticed nothing.
    """
    chosen = []
    for name, test in known.items():
        lines = test["lines"].get(mutant.path, ())
        if mutant.line in lines or (lines and mutant.line not in functions):
            chosen.append(("contracts" in name, test["seconds"], name))
    left = sorted(chosen)
    batches: list[list[str]] = []
    for budget in budgets:
        kept, later, spent = [], [], 0.0
        for one in left:
            fits = spent + one[1] <= budget or not kept
            (kept if fits else later).append(one)
            spent += one[1] if fits else 0.0
        batches.append([name for _, _, name in kept])
        left = later
    if mutant.line not in functions:
        batches[0].append(PAGES)
    return [batch for batch in batches if batch]


def function_lines(source: bytes) -> set[int]:
    """The lines inside of functions: those of other lines run when the module is imported."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            lines.update(range(node.body[0].lineno, (node.end_lineno or 0) + 1))
    return lines


def statement_line(mutant: Mutant, source: bytes) -> int:
    """The first line of the innermost statement: a tracer reports not every line of one that spans several."""
    best = 0
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.stmt) or hasattr(node, "body"):
            continue
        if node.lineno <= mutant.line <= (node.end_lineno or 0):
            best = max(best, node.lineno)
    return best or mutant.line


def run(mutant: Mutant, scratch: Path, tests: list[str], limit: float) -> str:
    """Killed, hung or survived."""
    file = scratch / mutant.path
    source = file.read_bytes()
    changed = mutant.applied(source)

    def job() -> int:
        sys.dont_write_bytecode = True
        if not swapped(file, source, changed, mutant.line):
            file.write_bytes(changed)
            Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)
            for name in [name for name in sys.modules if name.split(".")[0] in ("microveil", "tests", "conftest")]:
                del sys.modules[name]
        return int(pytest.main([*OPTIONS, *tests]))

    try:
        status = forked(job, limit)
    finally:
        if file.read_bytes() != source:
            file.write_bytes(source)
    if status is None:
        return "hung"
    return "survived" if status == 0 else "killed"


def swapped(file: Path, source: bytes, changed: bytes, line: int) -> bool:
    """Whether the function around the line could be given its changed code in the loaded module.

    If not, the module is imported again with all that use it, which takes longer.
    """
    before, after = (functions_of(compile(text, str(file), "exec")) for text in (source, changed))
    around = [key for key in before if key in after and before[key] != after[key]]
    if len(around) != 1 or len(before) != len(after):
        return False
    old = before[around[0]]
    found = 0
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__ == old and one.__code__.co_filename == str(file):
            try:
                one.__code__ = after[around[0]]
            except ValueError:  # other free variables
                return False
            found += 1
        elif isinstance(one, functools._lru_cache_wrapper):
            one.cache_clear()
    return found > 0


def functions_of(code: CodeType) -> dict[tuple[str, int], CodeType]:
    """The functions and methods of a module, by name and first line; those inside of functions belong to these."""
    found = {}
    for one in code.co_consts:
        if isinstance(one, CodeType):
            if one.co_flags & inspect.CO_OPTIMIZED:
                found[one.co_qualname, one.co_firstlineno] = one
            else:
                found |= functions_of(one)
    return found


def scratch_copy(folder: Path) -> None:
    """The tree as it is now; what has not changed keeps its time, so that the kernels compiled there remain valid."""
    names = ("src", "tests", "benchmarks", "studies", "docs")
    files = [file for name in names for file in (ROOT / name).rglob("*") if file.is_file()]
    wanted = {file.relative_to(ROOT) for file in files} | {Path("pyproject.toml"), Path("README.md")}
    for path in wanted:
        new, old = ROOT / path, folder / path
        if not old.exists() or ("__pycache__" not in path.parts and not filecmp.cmp(new, old, shallow=False)):
            old.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(new, old)
    for name in names:
        for old in (folder / name).rglob("*.py"):
            if old.relative_to(folder) not in wanted:
                old.unlink()


def equivalents() -> dict[str, str]:
    """Mutants that behave like the original, with the reason."""
    known = {}
    for line in EQUIVALENT.read_text().splitlines() if EQUIVALENT.exists() else ():
        if line and not line.startswith("#"):
            key, _, reason = line.partition("  # ")
            known[key.strip()] = reason
    return known


@dataclass(frozen=True)
class Worker:
    """One of several processes, each with its copy of the tree, its part of the tests and its part of the sample."""

    number: int
    workers: int
    folder: Path
    told: Any

    @property
    def scratch(self) -> Path:
        return self.folder / f"tree-{self.number}"

    def prepared(self) -> None:
        scratch = self.scratch
        sys.path[:0] = [str(scratch / "src")]
        os.environ |= {"PYTHONPATH": str(scratch / "src"), "HYPOTHESIS_STORAGE_DIRECTORY": str(scratch / "hypothesis")}
        os.chdir(scratch)
        quiet = os.open(self.folder / f"output-{self.number}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(quiet, stream)
        for name in PRELOADED.split():
            importlib.import_module(name)
        for kind in ("method", "attack", "loss", "score"):
            registry = importlib.import_module("microveil.registry")
            for name in registry.names(kind):
                registry.find(kind, name)

    def known(self, files: list[str]) -> dict[str, Any]:
        """The tests by line: workers share the files of tests, and each is measured in a process of its own.

        In this process no test runs, for threads that a library has started do not live on in the forks of it.
        """
        maps = [self.folder / "map" / (file.replace("/", ".") + ".json") for file in files]
        for file, into in zip(files, maps, strict=True):
            with contextlib.suppress(FileExistsError):
                into.with_suffix(".claimed").touch(exist_ok=False)
                forked(functools.partial(measure, self.scratch, file, into), 3600)
                if not into.exists():  # it broke off: its tests judge nothing
                    into.write_text("{}")
                print(f"measured {file}", file=self.told)
        found: dict[str, Any] = {}
        for into in maps:
            while not into.exists():
                time.sleep(1)
            found |= json.loads(into.read_text())
        return found

    def judged(self, sample: list[Mutant], known: dict[str, Any], budgets: list[float]) -> Counter[str]:
        """How many mutants of its part of the sample were killed, hung, survived or are equivalent."""
        same = equivalents()
        counts: Counter[str] = Counter()
        for i, mutant in enumerate(sample[self.number :: self.workers]):
            source = (self.scratch / mutant.path).read_bytes()
            before, after = mutant.diff(source)
            fate = "equivalent"
            tried = 0
            if mutant.key(source) not in same:
                line = statement_line(mutant, source)
                placed = Mutant(mutant.path, line, mutant.start, mutant.end, mutant.text)
                fate = "survived"
                for tests in tests_of(placed, known, function_lines(source), budgets):
                    tried += len(tests)
                    seconds = sum(known[name]["seconds"] for name in tests if name != PAGES)
                    fate = run(placed, self.scratch, tests, 30 + 5 * seconds)
                    if fate != "survived":
                        break
            counts[fate] += 1
            print(fate, mutant.path, mutant.line, before, "->", after, tried, flush=True)
            if fate == "survived":
                print(f"{mutant.path}:{mutant.line} ({tried} tests)\n  - {before}\n  + {after}", file=self.told)
            if i % 20 == 19:
                print(f"... worker {self.number}, {i + 1}: {dict(counts)}", file=self.told)
        return counts


def chosen(population: list[Mutant], asked: argparse.Namespace) -> list[Mutant]:
    if asked.line:
        return [mutant for mutant in population if mutant.line == asked.line]
    return random.Random(asked.seed).sample(population, min(asked.sample, len(population)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--sample", type=int, default=100, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="which sample")
    parser.add_argument("--only", default="", help="only files whose path contains this")
    parser.add_argument("--skip", default="", help="no files whose path contains one of these words, with commas")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "microveil-mutation")
    parser.add_argument("--keep-map", action="store_true", help="do not measure again which test executes which line")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds of tests, as measured, per mutant")
    parser.add_argument("--patience", type=float, default=100.0, help="seconds of more tests for survivors")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    parser.add_argument("--line", type=int, help="all mutants of this line (with --only)")
    asked = parser.parse_args()

    folder = asked.scratch.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    told = os.fdopen(os.dup(1), "w", buffering=1)
    workers = [Worker(number, asked.workers, folder, told) for number in range(asked.workers)]
    for worker in workers:
        scratch_copy(worker.scratch)
    if not asked.keep_map:
        shutil.rmtree(folder / "map", ignore_errors=True)
    (folder / "map").mkdir(exist_ok=True)
    skipped = [word for word in asked.skip.split(",") if word]
    population = [
        mutant
        for mutant in mutants(workers[0].scratch)
        if asked.only in mutant.path and not any(word in mutant.path for word in skipped)
    ]
    sample = chosen(population, asked)
    children = []
    for worker in workers:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                worker.prepared()
                known = worker.known(test_files(worker.scratch))
                counts = worker.judged(sample, known, [asked.budget, asked.patience])
                (folder / f"counts-{worker.number}.json").write_text(json.dumps(counts))
                status = 0
            except BaseException:
                traceback.print_exc(file=told)
            finally:
                os._exit(status)
        children.append(child)
    if any(os.waitpid(child, 0)[1] for child in children):
        sys.exit("a worker broke off")
    counts = Counter[str]()
    for worker in workers:
        counts += Counter(json.loads((folder / f"counts-{worker.number}.json").read_text()))
    judged = len(sample) - counts["equivalent"]
    dead = counts["killed"] + counts["hung"]
    print(
        f"{len(sample)} of {len(population)} mutants, seed {asked.seed}: {counts['equivalent']} equivalent, "
        f"{counts['survived']} survived, {counts['hung']} hung; {dead} of {judged} killed, {100 * dead / judged:.1f} %",
        file=told,
    )


if __name__ == "__main__":
    main()
