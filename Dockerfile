# The benchmarks in an image that needs no privileges, no hugepages and no NIC:
#
#   docker build -t goroce . && docker run --rm goroce roce_write_bw -d loop: -a
#
# scripts/container-ci builds it too where no registry can be reached, from images of its own.
ARG BASE=docker.io/library/debian:bookworm-slim
ARG GO_IMAGE=docker.io/library/golang:1.26-bookworm

FROM ${GO_IMAGE} AS build
LABEL goroce.stage=build
WORKDIR /src
COPY go.mod ./
COPY scripts/setup scripts/
RUN scripts/setup build

COPY . .
ARG GOPROXY
RUN make binaries

# What the image needs at run time: the packages of the libraries the binaries name, and of the
# drivers, which the EAL loads as plug-ins. Add to DRIVERS for a NIC, such as net_mlx5 or net_ice.
ARG DRIVERS="bus_vdev bus_pci mempool_ring net_af_packet net_af_xdp net_null net_pcap net_ring net_tap"
RUN set -eu; \
    { objdump -p bin/* | awk '$1 == "NEEDED" { print $2 }'; \
      for driver in ${DRIVERS}; do echo "librte_${driver}.so.[0-9]*"; done; } | sort -u | \
    while read -r library; do \
      dpkg-query -S "/*/${library}" || { echo "no package has ${library}" >&2; exit 1; }; \
    done | cut -d : -f 1 | sort -u > /packages

FROM ${BASE}
COPY --from=build /packages /usr/local/share/goroce/packages
RUN apt-get update -qq \
    && DEBIAN_FRONTEND=noninteractive xargs -a /usr/local/share/goroce/packages \
       apt-get install -qq -y --no-install-recommends >/dev/null \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin goroce \
    && install -d -o goroce -g goroce /run/goroce
COPY --from=build /src/bin/ /usr/local/bin/

ARG REVISION=unknown
LABEL goroce.stage=final \
      org.opencontainers.image.title="goroce" \
      org.opencontainers.image.description="RoCEv2 in Go over DPDK: perftest-style benchmarks" \
      org.opencontainers.image.source="https://github.com/goroce/goroce" \
      org.opencontainers.image.revision="${REVISION}"
# Sockets of memif ports, for containers that share this volume.
VOLUME /run/goroce
USER 10001
CMD ["roce_write_bw", "--help"]
