from case import Case, Expected, marker_event

LIBJVM = "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so"
PROGRAM = """
public class Hoard {
    static java.util.ArrayList<Object> kept = new java.util.ArrayList<>();
    public static void main(String[] arguments) {
        System.gc();
        for (int i = 0; i < 6_000_000; i++) kept.add(new Object[] {i, null});
        System.gc();
    }
}
"""


def prepare(world):
    (world.folder / "Hoard.java").write_text(PROGRAM, encoding="ascii")
    world.run("javac", "-d", world.folder, world.folder / "Hoard.java")


def provoke(world):
    world.run(
        "java", "-XX:+UseSerialGC", "-Xms900m", "-Xmx900m", "-Xmn300m", "-cp", world.folder, "Hoard"
    )


CASE = Case(
    "a garbage collection over six million objects",
    "OpenJDK 17",
    lambda world: marker_event('usdt="hotspot:gc__begin"', 'usdt="hotspot:gc__end"', LIBJVM),
    provoke,
    Expected(
        cause=r"^Computed",
        guilty=(
            r"GenMarkSweep|GenCollectedHeap|MarkSweep|VM_GenCollect|TenuredGeneration|DefNewGenerat"
            r"|Generation::"
        ),
        busy_cause=r"^Computed|^Waited .* for a CPU",
    ),
    100,
    prepare,
)
