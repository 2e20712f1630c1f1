FROM python:3.13-slim AS build
WORKDIR /build
COPY . .
RUN python -m venv /opt/cachelog && /opt/cachelog/bin/pip install --no-cache-dir .

FROM python:3.13-slim
COPY --from=build /opt/cachelog /opt/cachelog
RUN useradd --system --create-home --uid 1000 cachelog && install --directory --owner=cachelog /data
USER cachelog
ENV PATH=/opt/cachelog/bin:$PATH PYTHONUNBUFFERED=1 CACHELOG_CATALOG=/data/catalog
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD \
    ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health/live')"]
CMD ["cachelog", "serve", "--host", "0.0.0.0"]
