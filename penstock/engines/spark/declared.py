"""The job that runs a declared topology: one application, one query for each component, all at the same time.

python -m penstock.engines.spark.declared topology.yaml [--work DIR] [--master MASTER]     as `penstock run` starts it
run(application_of(builder.build()))                                                       from Python
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from penstock.engines.spark.application import Application, Outside, read_application
from penstock.engines.spark.cleaning import Cleaner, HadoopPlace
from penstock.engines.spark.functions import Function
from penstock.engines.spark.streams import FileStream
from penstock.errors import InvalidInput, PenstockError
from penstock.ids import ComponentId
from penstock.topology.topology import Component

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"
LOOK_S = 0.5
CLEAN_EVERY_LOOKS = 20


def command(words: Sequence[str]) -> list[str]:
    """What runs `topology.yaml [options]`, as a command of its own."""
    return [sys.executable, "-m", "penstock.engines.spark.declared", *words]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="penstock run topology.yaml", description="Runs a declared topology.")
    parser.add_argument("topology", type=Path)
    parser.add_argument("--work", metavar="DIR", help="where streams and checkpoints are kept")
    parser.add_argument("--master", help="Spark's master, over what the file says")
    options = parser.parse_args(words)
    try:
        application = read_application(options.topology, options.work)
        if options.master:
            application = replace(application, spark={**application.spark, "spark.master": options.master})
        run(application)
    except PenstockError as error:
        sys.stderr.write(f"penstock: {error}\n")
        return error.exit_code
    return 0


def run(application: Application) -> None:
    """Until somebody stops it (SIGINT, SIGTERM); raises when a component fails."""
    functions = load(application)  # before Spark starts: what cannot be imported is said at once
    running = Running(application, functions, session_of(application))
    try:
        running.start()
        running.watch()
    finally:
        running.stop()


def load(application: Application) -> dict[ComponentId, Function]:
    """Every function, or every reason why not."""
    functions: dict[ComponentId, Function] = {}
    problems: list[str] = []
    for component, named in application.functions.items():
        try:
            functions[component] = named.load(application.inputs(component))
        except InvalidInput as wrong:
            problems += wrong.problems
    for sink in application.sinks.values():
        try:
            if sink.foreach_batch:
                sink.foreach_batch.load(2, "argument")
        except InvalidInput as wrong:
            problems += wrong.problems
    if problems:
        raise InvalidInput(problems)
    return functions


def session_of(application: Application) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(application.declared.topology.id)
    for name, value in configuration(application).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def configuration(application: Application) -> Mapping[str, str]:
    """The application is Penstock's own, so this is what it sets; `spark:` in the file goes over it."""
    import pyspark

    ours = {"spark.scheduler.mode": "FAIR"}
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # else spark-submit has said where it runs
        ours["spark.master"] = f"local[{max(os.cpu_count() or 1, application.slots)}]"
    settings = {**ours, **application.spark}
    if application.uses_kafka and not any(CONNECTOR.partition(":")[2] in v for v in settings.values()):
        packages = [settings.get("spark.jars.packages"), f"{CONNECTOR}:{pyspark.__version__}"]
        settings["spark.jars.packages"] = ",".join(p for p in packages if p)
    return settings


@dataclass(slots=True)
class Running:
    application: Application
    functions: Mapping[ComponentId, Function]
    spark: Any
    frames: dict[ComponentId, Any] = field(default_factory=dict)
    queries: dict[ComponentId, Any] = field(default_factory=dict)
    kept_s: dict[ComponentId, float] = field(default_factory=dict)
    cleaners: dict[ComponentId, Cleaner] = field(default_factory=dict)
    _stopping: bool = False

    # start -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """All of them are built before the first one begins, so that what is wrong is said before a row moves."""
        topology = self.application.declared.topology
        place = HadoopPlace.of(self.spark)
        for stream in self.application.streams.values():
            if isinstance(stream, FileStream):
                place.make(
                    f"{stream.folder}/_spark_metadata"
                )  # its readers must never see files that are not committed
            else:
                stream.make_topic(self.spark)
        for component in topology.in_order:
            self.frames[component] = self._frame(component)
        self.cleaners = self._new_cleaners(place)
        for component in topology.in_order:
            self._begin_with(place, topology[component])
            self._query(topology[component])

    def _frame(self, component: ComponentId) -> Any:
        from pyspark.sql import DataFrame

        inputs = self._inputs(component)
        if component not in self.functions:
            return inputs[0]
        named, function = self.application.functions[component], self.functions[component]
        frame = named.call(function, inputs)
        if not isinstance(frame, DataFrame):
            found = f"{named.text} ({named.place(function)}) gives back {type(frame).__name__}, not a DataFrame"
            raise named.wrong(found)
        if not frame.isStreaming:
            raise named.wrong(f"{named.text} ({named.place(function)}) gives back a DataFrame that is not its input's")
        return frame

    def _inputs(self, component: ComponentId) -> list[Any]:
        if component in self.application.sources:
            return [_read(self.spark, self.application.sources[component])]
        parents = self.application.declared.topology.parents(component)
        return [self.application.streams[p].read(self.spark, _plain(self.frames[p].schema)) for p in parents]

    def _begin_with(self, place: HadoopPlace, component: Component) -> None:
        """The parallelism that was declared, as the plan for the first batch; later a checkpoint has its own."""
        checkpoint = self.application.checkpoint(component.id)
        if not place.names(f"{checkpoint}/_penstock") and not place.names(f"{checkpoint}/offsets"):
            plan = {"version": 0, "parallelism": component.parallelism, "instance_of": None, "executors": None}
            place.make(f"{checkpoint}/_penstock")
            place.write(f"{checkpoint}/_penstock/0", f"v1\n{json.dumps(plan)}")

    def _query(self, component: Component) -> None:
        """A query takes its pool and its session's settings with it when it starts."""
        writer = self._writer(component.id).queryName(component.id)
        self.spark.sparkContext.setLocalProperty("spark.scheduler.pool", component.id)
        self.spark.conf.set("spark.sql.shuffle.partitions", self.application.substreams(component))
        checkpoint = self.application.checkpoint(component.id)
        try:
            self.queries[component.id] = writer.option("checkpointLocation", checkpoint).start()
        except Exception as error:
            raise PenstockError(f"component {component.id!r} does not start: {_first_line(error)}") from error

    def _writer(self, component: ComponentId) -> Any:
        frame = self.frames[component]
        if component in self.application.sinks:
            return _written(frame, self.application.sinks[component])
        stream = self.application.streams[component]
        if isinstance(stream, FileStream) and component in self.kept_s:
            stream = replace(stream, kept_s=self.kept_s[component])
        return stream.write(frame)

    # while it runs -----------------------------------------------------------------------------------------

    def watch(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._asked_to_stop)
        looks = 0
        while not self._stopping:
            self._wait()
            looks += 1
            if looks % CLEAN_EVERY_LOOKS == 0:
                self._clean()

    def _asked_to_stop(self, number: int, frame: object) -> None:
        self._stopping = True

    def _wait(self) -> None:
        try:
            self.spark.streams.awaitAnyTermination(LOOK_S)
        except Exception as error:
            if not self._stopping:
                raise self._failure(error) from error
        ended = next((c for c, q in self.queries.items() if not q.isActive), None)
        if ended is not None and not self._stopping:
            raise PenstockError(f"component {ended!r} has ended, so the others end too")

    def _failure(self, error: Exception) -> PenstockError:
        try:
            failed = next((c for c, q in self.queries.items() if q.exception() is not None), None)
        except Exception:  # the driver's JVM is gone: it was killed, or ran out of memory
            return PenstockError("Spark's driver has died; start the topology again, and it goes on where it was")
        return PenstockError(f"component {failed!r} failed: {_first_line(error)}")

    def _new_cleaners(self, place: HadoopPlace) -> dict[ComponentId, Cleaner]:
        """Where a stream was left with late readers, Spark's log keeps its files for longer from the start."""
        topology, cleaners = self.application.declared.topology, {}
        for component, stream in self.application.streams.items():
            readers = [self.application.checkpoint(c) for c in topology.children(component)]
            if isinstance(stream, FileStream) and readers:
                cleaners[component] = cleaner = Cleaner.of(place, stream.folder, readers)
                cleaner.look()
                self.kept_s[component] = stream.kept_s + 2 * cleaner.lateness_s()
        return cleaners

    def _clean(self) -> None:
        for component, cleaner in self.cleaners.items():
            try:
                cleaner.clean()
                lateness_s = cleaner.lateness_s()
            except Exception as error:  # Spark tidies its logs while they are read: the next look sees more
                sys.stderr.write(f"penstock: the stream of {component!r} was not cleaned: {_first_line(error)}\n")
                continue
            if lateness_s > self.kept_s[component] / 2:
                self._keep_longer(component)

    def _keep_longer(self, component: ComponentId) -> None:
        """Spark's log would forget what a reader still has to take: its writer starts again, with a longer memory."""
        self.kept_s[component] *= 2
        self.queries[component].stop()
        self.spark.streams.resetTerminated()  # else it would count as ended for ever
        self._query(self.application.declared.topology[component])

    def stop(self) -> None:
        """Best effort: a driver that is gone, or was interrupted together with us, cannot be asked to end."""
        try:
            self.spark.sparkContext.setLogLevel("OFF")  # batches that are broken off complain at length
            for query in self.queries.values():
                query.stop()
            self.spark.stop()
        except Exception as error:
            if not self._stopping:
                sys.stderr.write(f"penstock: the application did not end as it should: {_first_line(error)}\n")


def _read(spark: Any, source: Outside) -> Any:
    reader = spark.readStream.format(source.format).options(**source.options)
    return (reader.schema(source.schema) if source.schema else reader).load()


def _written(frame: Any, sink: Outside) -> Any:
    writer = frame.writeStream.options(**sink.options)
    writer = writer.outputMode(sink.output_mode) if sink.output_mode else writer
    if sink.foreach_batch:
        return writer.foreachBatch(sink.foreach_batch.load(2, "argument"))
    return writer.format(sink.format)


def _plain(schema: Any) -> Any:
    """Without the notes that Spark keeps in it: a watermark ends with the component that set it."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(f.name, f.dataType) for f in schema.fields])


def _first_line(error: Exception) -> str:
    told = str(error).strip().splitlines()
    return f"{type(error).__name__}: {told[0]}" if told else type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
