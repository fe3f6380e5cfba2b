// Computes until it is killed; spends nearly all of the time in plantedInner, called by
// plantedOuter.
public class Busy {
    static double plantedInner(int count) {
        double sum = 0;
        for (int i = 0; i < count; i++) sum += Math.sqrt(i) * ((i % 7) + 1);
        return sum;
    }

    static double plantedOuter(int times) {
        double sum = 0;
        for (int i = 0; i < times; i++) sum += plantedInner(20000);
        return sum;
    }

    static volatile double sum;

    public static void main(String[] arguments) {
        // Long enough that each is called again after it was compiled.
        for (int i = 0; i < 1000; i++) sum += plantedOuter(20);
        System.out.println("ready");
        for (;;) sum += plantedOuter(20);
    }
}
