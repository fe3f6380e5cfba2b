import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Fills carts: each input line says how many carts, and how many milliseconds each checkout sleeps. */
public class Shop {
    static class Cart {
        private int sum;

        void add(int price) {
            sum += discounted(price);
        }

        int discounted(int price) {
            if (price == 0) throw new IllegalArgumentException("free");
            return price - price / 10;
        }

        int checkout(int sleepMs) throws InterruptedException {
            if (sleepMs > 0) Thread.sleep(sleepMs);
            return sum;
        }
    }

    static int fill(int sleepMs) throws InterruptedException {
        Cart cart = new Cart();
        for (int price = 1; price <= 20; price++) cart.add(price);
        try {
            cart.add(0);
        } catch (IllegalArgumentException free) {
            cart.add(1);
        }
        return cart.checkout(sleepMs);
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            int all = 0;
            String[] words = line.split(" ");
            for (int carts = Integer.parseInt(words[0]); carts > 0; carts--) all += fill(Integer.parseInt(words[1]));
            System.out.println(all);
        }
    }
}
