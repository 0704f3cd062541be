"""Finds the tools and servers, and installs what a registry offers. What cannot be had is said, with the reason.

Programs built from source go to a cache outside the clone, at pinned versions. System packages are installed only as
root on a system with apt; elsewhere the message names the package.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "weighbridge" / "peers"


class Unavailable(Exception):
    """A program is not to be had here; the message is the reason and what to do."""


@dataclasses.dataclass(frozen=True)
class Jars:
    """A Java program that Maven offers in parts of one version.

    `main` is started with `options` of the virtual machine, in which `{home}` is the program's folder. There it finds
    what the part `settings` has in `bin`, and `folders`, even if empty.
    """

    group: str
    parts: tuple[str, ...]
    main: str
    options: str
    settings: str
    folders: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a program is had: at most one of a Debian package, a crate, a Go module, a package of Python or jars of Maven, all but
    the first with a version."""

    program: str
    package: str | None = None
    crate: str | None = None
    module: str | None = None
    distribution: str | None = None
    jars: Jars | None = None
    version: str | None = None
    by_hand: str = ""
    """What a user does where nothing of the above works."""


class Installer:
    """Looks for programs, in the cache first; installs each at most once in a run."""

    def __init__(self, allowed: bool, cache: pathlib.Path = CACHE) -> None:
        self.allowed = allowed
        self.cache = cache
        self._updated = False

    def find(self, recipe: Recipe) -> str | None:
        """Its path; a pinned version in the cache goes before the system's. Also where servers usually lie."""
        usual = [os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"]
        return shutil.which(recipe.program, path=os.pathsep.join([str(self._own(recipe) / "bin"), *usual]))

    def _own(self, recipe: Recipe) -> pathlib.Path:
        """A folder for this version alone, so that another pin is another build."""
        return self.cache / f"{recipe.program}-{recipe.version}"

    def have(self, recipe: Recipe) -> str:
        """Path of the program, installed if need be."""
        if path := self.find(recipe):
            return path
        way = self._way(recipe)
        if way is None:
            raise Unavailable(f"not installed, and no registry offers it; {recipe.by_hand or 'install it yourself'}")
        if not self.allowed:
            raise Unavailable(f"not installed, and --no-install was given; would run `{' '.join(way)}`")
        self._carry_out(recipe, way)
        if path := self.find(recipe):
            return path
        raise Unavailable(f"`{' '.join(way)}` ended well but `{recipe.program}` is not there")

    def _way(self, recipe: Recipe) -> Sequence[str] | None:
        if recipe.package:
            return ("apt-get", "install", "-y", "-qq", "--no-install-recommends", recipe.package)
        if recipe.crate:
            root = ("--root", str(self._own(recipe)))
            return ("cargo", "install", "--locked", "--quiet", *root, f"{recipe.crate}@{recipe.version}")
        if recipe.module:
            return ("go", "install", f"{recipe.module}@{recipe.version}")
        if recipe.distribution:
            return (str(self._own(recipe) / "bin" / "pip"), "install", "-q", f"{recipe.distribution}=={recipe.version}")
        if recipe.jars:
            where = ("-DincludeScope=runtime", f"-DoutputDirectory={self._own(recipe) / 'lib'}")
            return ("mvn", "-q", "-B", "-f", str(self._own(recipe) / "pom.xml"), _COPY_JARS, *where)
        return None

    def _carry_out(self, recipe: Recipe, way: Sequence[str]) -> None:
        environment = {"DEBIAN_FRONTEND": "noninteractive", "GOBIN": str(self._own(recipe) / "bin")}
        if way[0] == "apt-get":
            if os.geteuid() != 0 or not shutil.which("apt-get"):
                raise Unavailable(
                    f"not installed; install the package `{recipe.package}` (Debian's name) and run again"
                )
            if not self._updated:
                self._updated = True
                _build(("apt-get", "update", "-qq"), environment)
        elif recipe.distribution:
            _build((sys.executable, "-m", "venv", str(self._own(recipe))), environment)
        elif not shutil.which(way[0]):
            raise Unavailable(f"not installed, and `{way[0]}`, which would build it, is not there either")
        if recipe.jars:
            own = self._own(recipe)
            own.mkdir(parents=True, exist_ok=True)
            (own / "pom.xml").write_text(pom(recipe.jars, recipe.version))
            _build(way, environment)
            make_home(own, recipe)
        else:
            _build(way, environment)


def pom(jars: Jars, version: str | None) -> str:
    """What Maven reads: a project of no other use than to depend on the parts."""
    one = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
    parts = "\n".join(one.format(jars.group, part, version) for part in jars.parts)
    return _POM.format(dependencies=parts)


def make_home(home: pathlib.Path, recipe: Recipe) -> None:
    """Settings and the start script beside the jars in `lib`; the script comes last, since it says that all is there."""
    jars = recipe.jars
    assert jars is not None
    with zipfile.ZipFile(home / "lib" / f"{jars.settings}-{recipe.version}.jar") as settings:
        settings.extractall(home, [name for name in settings.namelist() if name.startswith("bin/")])
    for folder in jars.folders:
        (home / folder).mkdir(exist_ok=True)
    program = home / "bin" / recipe.program
    options = jars.options.format(home=home)
    program.write_text(f"#!/bin/sh\nexec java {options} $JVM_ARGS -cp '{home}/lib/*' {jars.main} \"$@\"\n")
    program.chmod(0o755)


_COPY_JARS = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>weighbridge</groupId><artifactId>peer</artifactId><version>0</version><packaging>pom</packaging>
<dependencies>
{dependencies}
</dependencies>
</project>
"""


def _build(command: Sequence[str], environment: Mapping[str, str]) -> None:
    print(f"peers: {' '.join(command)}", file=sys.stderr, flush=True)
    done = subprocess.run(
        command,
        check=False,
        env=dict(os.environ, **environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())[-300:]
        raise Unavailable(f"`{' '.join(command)}` ended with {done.returncode}: {said}")


def build(source: pathlib.Path, cache: pathlib.Path = CACHE) -> str:
    """Compiles a program of ours of one C file, anew when its source is younger."""
    program = cache / source.stem
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return str(program)
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise Unavailable("no C compiler: install gcc")
    program.parent.mkdir(parents=True, exist_ok=True)
    # Another run may be using the old one: written aside, then moved.
    aside = program.with_name(f"{source.stem}.{os.getpid()}")
    _build((compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", str(aside), str(source)), {})
    aside.replace(program)
    return str(program)
