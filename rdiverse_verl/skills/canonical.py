"""The canonical form of a solver program: what it does, without the numbers it was written for."""

import ast

from rdiverse_verl.errors import DataError

MAX_CHARACTERS = 20_000


def canonical_code(code: str) -> str:
    """Reduce a program to its imports and definitions in one format. It is parsed, never executed.

    Comments, docstrings, whatever else stands at the top level (calls, prints, constants) and the default values of
    `solver`'s arguments are dropped. The prompt puts the question's numbers there (R-Diverse, App. A.2): they are its
    data and not the skill it takes.

    Raises DataError with the reason unless the text is Python with exactly one top-level ``def solver``.
    """
    if len(code) > MAX_CHARACTERS:
        raise DataError(f"program of {len(code)} characters is longer than {MAX_CHARACTERS}")
    try:
        module = ast.parse(code)
        return ast.unparse(_canonical_module(module))
    except DataError:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise DataError(f"program cannot be parsed: {type(error).__name__}") from error


def _canonical_module(module: ast.Module) -> ast.Module:
    definitions = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
    module.body = [node for node in module.body if isinstance(node, definitions)]
    solvers = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == "solver"]
    if len(solvers) != 1:
        raise DataError(f"program has {len(solvers)} top-level functions named solver, expected one")
    arguments = solvers[0].args
    arguments.defaults = []
    arguments.kw_defaults = [None] * len(arguments.kwonlyargs)
    return _DropText().visit(module)


class _DropText(ast.NodeTransformer):
    """Remove every string that stands as a statement: docstrings, and strings used as comments."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if getattr(node, "body", None) == []:
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node
