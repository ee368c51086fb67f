"""The client has the functions of the database: names, arguments, order, types and defaults."""

import inspect
import pickle
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_origin
from uuid import uuid4

import psycopg
import pytest

from memstore import AdmissionRecord, AsyncStore, Claim, Memory, Store, calls, wire
from memstore.wire import Call

Db = psycopg.Connection[Any]

# help() is for whoever sits at a prompt: Python has docstrings.
FUNCTIONS = {path.stem for path in Path(__file__).parents[2].glob("sql/functions/*/*.sql")} - {"help"}


def called() -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(calls).items()
        if inspect.isfunction(value)
        and not name.startswith("_")
        and get_origin(inspect.signature(value).return_annotation) is Call
    }


def methods(store: type) -> dict[str, Any]:
    return {name: value for name, value in vars(store).items() if name in called()}


def test_there_is_a_call_for_each_function() -> None:
    assert set(called()) == FUNCTIONS


@pytest.mark.parametrize("store", [Store, AsyncStore])
def test_there_is_a_method_for_each_call(store: type) -> None:
    assert set(methods(store)) == set(called())


@pytest.mark.parametrize("store", [Store, AsyncStore])
def test_methods_are_described_by_their_calls(store: type) -> None:
    for name, method in methods(store).items():
        call = called()[name]
        signature = inspect.signature(method)
        assert method.__doc__ == call.__doc__
        assert method.__qualname__ == f"{store.__name__}.{name}"
        assert list(signature.parameters.values())[1:] == list(inspect.signature(call).parameters.values())
        assert (signature.return_annotation,) == get_args(inspect.signature(call).return_annotation)
        assert f"`memstore.{name}`" in method.__doc__


@pytest.mark.parametrize("name", sorted(called()))
def test_arguments_are_the_functions_own(db: Db, name: str) -> None:
    (oid, count), *more = db.execute(
        "select oid, pronargs from pg_proc where proname = %s and pronamespace = 'memstore'::regnamespace",
        (name,),
    ).fetchall()
    assert not more, "no overloads"
    arguments = db.execute(
        "select proargnames[i], format_type(proargtypes[i - 1], null), pg_get_function_arg_default(oid, i)"
        " from pg_proc, generate_series(1, %s::integer) i where oid = %s order by i",
        (count, oid),
    ).fetchall()
    parameters = [
        each for each in inspect.signature(called()[name]).parameters.values() if each.name != "strict"
    ]

    assert [each.name for each in parameters] == [argument for argument, _, _ in arguments]
    for parameter, (argument, kind, default) in zip(parameters, arguments, strict=True):
        assert wire.TYPES[argument][0] == kind.replace("timestamp with time zone", "timestamptz")
        if default is None:
            assert parameter.default is inspect.Parameter.empty
            assert parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        else:
            row = db.execute(f"select {default}").fetchone()
            assert row == (parameter.default,)
            assert parameter.kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize(
    ("model", "composite"),
    [(Memory, "memory"), (AdmissionRecord, "admission_record"), (Claim, "claim")],
)
def test_a_model_has_the_fields_of_the_type(db: Db, model: Any, composite: str) -> None:
    attributes = db.execute(
        "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0 and not attisdropped"
        " order by attnum",
        (f"memstore.{composite}",),
    ).fetchall()
    assert [each.name for each in fields(model)] == [name for (name,) in attributes]


def test_a_call_shows_no_parameter() -> None:
    call = calls.insert_memory(uuid4(), "private words")
    assert "private" not in repr(call)
    assert call.parameters["body"] == "private words"


def test_calls_are_values() -> None:
    actor = uuid4()
    for call in (calls.list_claims, calls.list_memories):
        assert call(actor) == call(actor) != call(actor, page_size=1)
        assert pickle.loads(pickle.dumps(call(actor))) == call(actor)
