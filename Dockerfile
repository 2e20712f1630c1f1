# syntax=docker/dockerfile:1

# What all stages begin with. To build the same image again, pass it with its digest:
# --build-arg BASE=python:3.13-slim@sha256:...
ARG BASE=python:3.13-slim

# The libraries are a layer of their own: a change of the code neither installs nor sends them anew.
FROM ${BASE} AS libraries
WORKDIR /build
# binutils has strip.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends binutils \
    && rm -rf /var/lib/apt/lists/*
COPY deploy/requirements.txt deploy/trim_libraries.py ./
RUN python -m venv --without-pip /opt/cachelog \
    && pip --python /opt/cachelog install --no-cache-dir --require-hashes --requirement requirements.txt \
    && python trim_libraries.py /opt/cachelog

FROM ${BASE} AS wheel
# There is no git here that could tell it.
ARG VERSION
WORKDIR /build
COPY . .
RUN CACHELOG_BUILD_VERSION="${VERSION}" pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM ${BASE}
ARG VERSION
ARG REVISION
ARG REPOSITORY
LABEL org.opencontainers.image.title="cachelog" \
    org.opencontainers.image.description="Version control for what a Spack build cache holds" \
    org.opencontainers.image.licenses="Apache-2.0 AND MIT AND 0BSD" \
    org.opencontainers.image.source="${REPOSITORY}" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}"
# git is what 'cachelog import --git' reads with. Of which version, the base image decides. Perl, half of
# its size, is for commands of git that nobody runs here.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        --option Dpkg::Options::="--path-exclude=/usr/share/perl/*" \
        --option Dpkg::Options::="--path-exclude=/usr/lib/*/perl/*" \
        --option Dpkg::Options::="--path-exclude=/usr/lib/*/libperl.so*" \
        git ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 1000 cachelog \
    && useradd --uid 1000 --gid 1000 --create-home cachelog \
    && install --directory --owner=1000 --group=1000 /data
COPY --from=libraries /opt/cachelog /opt/cachelog
RUN --mount=type=bind,from=wheel,source=/wheels,target=/wheels \
    pip --python /opt/cachelog install --no-cache-dir --no-deps /wheels/*.whl
# By number, so that Kubernetes can see that it is not root.
USER 1000:1000
ENV PATH=/opt/cachelog/bin:$PATH PYTHONUNBUFFERED=1 \
    CACHELOG_CATALOG=/data/catalog CACHELOG_CACHE_DIR=/data/cache
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD \
    ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health/live')"]
CMD ["cachelog", "serve", "--host", "0.0.0.0"]
