# nanobench with everything it needs, on the CPU. Build and use:
#   docker build -t nanobench .
#   docker run --rm -v "$PWD/results:/work/results" nanobench run /opt/nanobench/suites/speedrun_history.json
FROM debian:12

RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates cmake g++ git python3 python3-pip \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/nanobench
COPY . .
# The downloaded wheels and the objects are not needed once the programs are linked.
RUN ./nanobench setup \
 && rm -rf /root/.cache /var/lib/apt/lists/* \
 && find build -name '*.o' -delete

# Results land in the folder where the program is started.
WORKDIR /work
ENTRYPOINT ["/opt/nanobench/build/release/bin/nanobench"]
CMD ["--help"]
