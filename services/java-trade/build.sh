#!/bin/sh
# Builds the service into target/ of the folder in which it is called: this one, or that of a service with the same sources.
#   build.sh [JDK]        with the JDK in that folder, else with the one that Maven finds
#   build.sh test [JDK]   tries it: its unit tests, and every call beside the service in Rust
#   build.sh probe        ends with 0 where the JDK that Maven uses can compile, and the `java` on PATH run what it compiled
set -eu

fail() {
    echo "build.sh: $1" >&2
    exit 1
}
# The major version of a JDK by its launcher; of what is none, 0.
major() {
    number=$("$1" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
    echo "${number:-0}"
}

if [ "${1-}" = probe ]; then
    command -v mvn >/dev/null || fail "there is no \`mvn\` on PATH"
    jdk=$(mvn --batch-mode --version | sed -n 's/^Java version: .*, runtime: //p')
    [ -x "$jdk/bin/javac" ] || fail "Maven uses the Java at \"$jdk\", which has no \`javac\`"
    for java in "$jdk/bin/java" java; do
        version=$(major "$java")
        [ "$version" -ge 17 ] || fail "\`$java\` is of version $version, allowed: 17 or later"
    done
    exit
fi
goal=package
[ "${1-}" != test ] || { goal=test && shift; }
[ $# = 0 ] || export JAVA_HOME="$1"

source=$(cd "$(dirname "$0")" && pwd)
maven() { mvn --batch-mode --quiet -Dstyle.color=never --file "$source/pom.xml" -Dtarget="$PWD/target" "$@"; }

if [ "$goal" = test ]; then
    maven test
    exit
fi
# Maven takes seconds to find that nothing has changed: it is asked only where something has.
stamp=target/built
used="$source/build.sh $source/pom.xml $source/src/main $source/../trade"
# shellcheck disable=SC2086 # several words each
if [ -e "$stamp" ] && [ -z "$(find $used -newer "$stamp")" ]; then
    exit
fi
# As old as the build's beginning: what is changed meanwhile is built the next time, and so is all where it is cut short.
began=target/building.$$
trap 'rm -f "$began"' EXIT
mkdir -p target
touch "$began"
maven -Dmaven.test.skip package
mv "$began" "$stamp"
