"""Methods, attacks, losses, scores and controls of other packages, which declare them as entry points.

They are looked for when all names are asked for, or one that is not built in; never when Microveil is imported.
"""

from __future__ import annotations

import importlib
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any

from microveil.entries import ENTRIES
from microveil.errors import PluginError, UnknownNameError
from microveil.parameters import Parameterised, component_parameters

GROUPS = {
    "method": "microveil.methods",
    "attack": "microveil.attacks",
    "loss": "microveil.losses",
    "score": "microveil.scores",
    "control": "microveil.controls",
}


@dataclass(frozen=True)
class Plugin:
    """An entry that a package declares: its kind and name, where its class is, and who declares it."""

    kind: str
    name: str
    package: str
    version: str
    entry_point: metadata.EntryPoint

    def load(self) -> Any:
        """What the entry point leads to; whatever goes wrong on the way is said in one sentence."""
        try:
            return self.entry_point.load()
        except (Exception, SystemExit) as problem:  # the code of others may fail in any way
            told = " ".join(str(problem).split())
            raise self.refused(f"importing it fails ({type(problem).__name__}{': ' if told else ''}{told})") from None

    def refused(self, why: str) -> PluginError:
        return PluginError(f"the {self.kind} '{self.name}' of package {self.package} {self.version} is not used: {why}")


@cache
def declared(kind: str) -> tuple[dict[str, Plugin], tuple[PluginError, ...]]:
    """What other packages declare, by name, and why some of it cannot be used: a name stands for one thing only."""
    by_name: dict[str, list[Plugin]] = defaultdict(list)
    for point in metadata.entry_points(group=GROUPS[kind]):
        package, version = ("unknown", "") if point.dist is None else (point.dist.name, point.dist.version)
        by_name[point.name].append(Plugin(kind, point.name, package, version, point))
    found, refused = {}, []
    for name, plugins in sorted(by_name.items()):
        if name in ENTRIES[kind]:
            refused += [plugin.refused(f"the name is that of a {kind} of Microveil itself") for plugin in plugins]
        elif len(plugins) > 1:
            packages = " and ".join(sorted(plugin.package for plugin in plugins))
            refused.append(plugins[0].refused(f"{packages} declare the same name; uninstall all but one"))
        else:
            found[name] = plugins[0]
    return found, tuple(refused)


def loaded(kind: str, name: str) -> Any:
    """What is behind a name: a class that is built in, or what the entry point of another package leads to."""
    if name in ENTRIES[kind]:
        module, cls = ENTRIES[kind][name].split(":")
        return getattr(importlib.import_module(module), cls)
    plugins, _ = declared(kind)
    if name not in plugins:
        raise UnknownNameError(kind, name, [*ENTRIES[kind], *plugins])
    return plugins[name].load()


def plugin_of(cls: type[Parameterised]) -> Plugin | None:
    """The entry by which a package declares this class; none if it is built in, or was declared by nobody."""
    if cls.__module__.partition(".")[0] == "microveil":
        return None
    for kind in GROUPS:
        plugin = declared(kind)[0].get(cls.name)
        if plugin is not None and _leads_to(plugin, cls):
            return plugin
    return None


def _leads_to(plugin: Plugin, cls: type) -> bool:
    try:
        return plugin.load() is cls
    except PluginError:
        return False


def plugins_used(component: Parameterised) -> tuple[Plugin, ...]:
    """The entries of other packages that a component is and that are inside it."""
    plugin = plugin_of(type(component))
    inside = (getattr(component, name) for name in component_parameters(type(component)))
    parts = (used for part in inside if isinstance(part, Parameterised) for used in plugins_used(part))
    return (*(() if plugin is None else (plugin,)), *parts)
