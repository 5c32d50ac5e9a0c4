# The benchmarks in an image that needs no privileges, no hugepages and no NIC:
#
#   docker build -t goroce . && docker run --rm goroce roce_write_bw -d loop: -a
#
# scripts/container-ci builds it too where no registry can be reached, from images of its own.
ARG GO_IMAGE=docker.io/library/golang:1.26-bookworm

FROM ${GO_IMAGE} AS build
LABEL goroce.stage=build
WORKDIR /src
COPY go.mod ./
COPY scripts/setup scripts/
RUN scripts/setup build && scripts/setup image

COPY . .
ARG GOPROXY
ARG DRIVERS
RUN make image-binaries && DRIVERS="${DRIVERS}" scripts/container-root /image

# Programs, their libraries and DPDK's drivers, without a distribution: scripts/container-root.
FROM scratch
COPY --from=build /image/ /
ARG REVISION=unknown
LABEL goroce.stage=final \
      org.opencontainers.image.title="goroce" \
      org.opencontainers.image.description="RoCEv2 in Go over DPDK: perftest-style benchmarks" \
      org.opencontainers.image.source="https://github.com/goroce/goroce" \
      org.opencontainers.image.revision="${REVISION}"
ENV PATH=/usr/local/bin:/bin
# Sockets of memif ports, for containers that share this volume.
VOLUME /run/goroce
USER 10001
CMD ["goroce", "--help"]
