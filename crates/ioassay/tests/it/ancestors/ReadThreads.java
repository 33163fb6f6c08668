import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Sums a file by threads, each of which has a range of its own:
 * {@code ReadThreads mmap|pread THREADS FILE}.
 */
public class ReadThreads {
    private static final int BLOCK = 4 << 20;

    public static void main(String[] args) throws Exception {
        boolean isMapped = args[0].equals("mmap");
        int threads = Integer.parseInt(args[1]);
        AtomicLong sum = new AtomicLong();
        long began = System.nanoTime();
        try (FileChannel file = FileChannel.open(Path.of(args[2]), StandardOpenOption.READ)) {
            long bytes = file.size();
            long part = bytes / threads;
            Thread[] all = new Thread[threads];
            for (int i = 0; i < threads; i++) {
                long start = i * part;
                long end = i < threads - 1 ? start + part : bytes;
                all[i] = new Thread(() -> sum.addAndGet(sumOf(file, start, end, isMapped)));
                all[i].start();
            }
            for (Thread thread : all) {
                thread.join();
            }
            double seconds = (System.nanoTime() - began) / 1e9;
            System.out.printf("%d: %.0f MB/s%n", sum.get(), bytes / seconds / 1e6);
        }
    }

    private static long sumOf(FileChannel file, long start, long end, boolean isMapped) {
        long sum = 0;
        ByteBuffer buffer = ByteBuffer.allocateDirect(BLOCK);
        try {
            for (long at = start; at < end; at += BLOCK) {
                long bytes = Math.min(BLOCK, end - at);
                if (isMapped) {
                    buffer = file.map(FileChannel.MapMode.READ_ONLY, at, bytes);
                } else {
                    buffer.clear().limit((int) bytes);
                    while (buffer.hasRemaining()) {
                        file.read(buffer, at + buffer.position());
                    }
                    buffer.flip();
                }
                LongBuffer values = buffer.asLongBuffer();
                while (values.hasRemaining()) {
                    sum += values.get();
                }
            }
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
        return sum;
    }
}
