#!/usr/bin/env bash
# Builds the console into web/dist, from where build.rs puts it into the program.
#
# What was built before from the same sources is taken from the user's cache: a fresh clone then needs neither npm nor a
# minute. The packages lie there too, by the hash of the lock file.
set -euo pipefail
cd "$(dirname "$0")/../web"

CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/trainmaster/web

hash_of() { sha256sum "$@" | sha256sum | cut -c1-32; }

# Puts a directory in its place at once, so that whoever comes at the same time sees all of it or nothing.
keep() {
    local from=$1 to=$2
    mv -T "$from" "$to" 2>/dev/null || rm -rf "$from"
}

# The packages of the lock file, as a link to the cache.
packages() {
    local place fresh
    place=$CACHE/modules-$(hash_of package.json package-lock.json)
    if [ ! -d "$place" ]; then
        echo "web: fetching the packages of the console" >&2
        mkdir -p "$CACHE"
        fresh=$(mktemp -d "$CACHE/fresh.XXXXXX")
        cp package.json package-lock.json .npmrc "$fresh"
        # Not `npm ci`: it insists on the packages of other platforms, which the lock file may not have.
        (cd "$fresh" && npm install --no-save --loglevel=error >&2)
        keep "$fresh" "$place"
    fi
    if [ "$(readlink node_modules || true)" != "$place/node_modules" ]; then
        rm -rf node_modules
        ln -s "$place/node_modules" node_modules
    fi
}

build() {
    local sources place fresh
    sources=$(git ls-files --cached --others --exclude-standard -- src public index.html package-lock.json vite.config.ts pack.mjs ../docs/*.md ../docs/zh-CN/*.md ../README*.md | grep -v "\.d\.ts$" | sort)
    place=$CACHE/dist-$(hash_of $sources)
    if [ ! -d "$place" ]; then
        packages
        npm run --silent build >&2
        fresh=$(mktemp -d "$CACHE/fresh.XXXXXX")
        cp -a dist/. "$fresh"
        keep "$fresh" "$place"
    fi
    # Untouched if it is the same: cargo builds again whatever has become newer.
    if [ "$(cat dist/.built-from 2>/dev/null)" != "$place" ]; then
        rm -rf dist
        cp -a "$place" dist
        echo "$place" >dist/.built-from
    fi
}

case "${1:-build}" in
build) build ;;
packages) packages ;;
*)
    echo "say what: build or packages" >&2
    exit 2
    ;;
esac
