import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Two threads that make the first call of each function at the same moment; each input line says how many rounds. */
public class Many {
    static volatile int first, second; // how far each thread is

    //FUNCTIONS

    static void walk(boolean is_first, int from, int rounds) {
        int at = from;
        for (int round = 0; round < rounds; round++)
            for (int number = 0; number < COUNT; number++) {
                at++;
                if (is_first) first = at;
                else second = at;
                while ((is_first ? second : first) < at) { }
                call(number);
            }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            int from = first, rounds = Integer.parseInt(line.trim());
            Thread[] both = {new Thread(() -> walk(true, from, rounds)), new Thread(() -> walk(false, from, rounds))};
            for (Thread one : both) one.start();
            for (Thread one : both) one.join();
            System.out.println(line);
        }
    }
}
