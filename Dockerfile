FROM python:3.13-slim AS build
WORKDIR /build
COPY . .
RUN python -m venv /opt/cachelog && /opt/cachelog/bin/pip install --no-cache-dir .

FROM python:3.13-slim
# git is what 'cachelog import --git' reads with.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --create-home --uid 1000 cachelog \
    && install --directory --owner=cachelog /data
COPY --from=build /opt/cachelog /opt/cachelog
USER cachelog
ENV PATH=/opt/cachelog/bin:$PATH PYTHONUNBUFFERED=1 \
    CACHELOG_CATALOG=/data/catalog CACHELOG_CACHE_DIR=/data/cache
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD \
    ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health/live')"]
CMD ["cachelog", "serve", "--host", "0.0.0.0"]
