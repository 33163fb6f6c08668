// A peer of ioassay in Java: reads jobs as lines from stdin and writes replies as lines to stdout.
// ../README.md describes the protocol, and ../peers.toml lists what this peer supports.
//
// From the barrier to the end, the timed loop only allocates the mappings of a pass. Before the
// barrier, the warm-up runs the loop on a small separate file until the runtime has compiled it.

import com.sun.nio.file.ExtendedOpenOption;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.RandomAccessFile;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicBoolean;

public final class Peer {
    /** Page size of the digest in bytes, the same on all machines. */
    private static final int PAGE = 4096;
    private static final int COUNTED = 10;
    private static final PrintStream OUT =
            new PrintStream(System.out, false, StandardCharsets.US_ASCII);
    private static final BufferedReader IN =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));

    public static void main(String[] arguments) throws Exception {
        String version = System.getProperty("java.vm.version");
        OUT.println("hello protocol=2 name=java version=" + escape(version));
        String line = nextLine();
        while (line != null) {
            if (line.startsWith("job ")) {
                line = perform(parse(line));
            } else if (line.equals("go")) {
                line = nextLine();
            } else {
                throw new IOException("an unknown verb in the line '" + line + "'");
            }
        }
    }

    // ---- Lines ----------------------------------------------------------------------------------

    /** Flushes the replies and returns the next line; null when this program must exit. */
    private static String nextLine() throws IOException {
        if (OUT.checkError()) {
            throw new IOException("stdout cannot be written");
        }
        return IN.readLine();
    }

    private static String escape(String value) {
        StringBuilder text = new StringBuilder();
        for (byte signed : value.getBytes(StandardCharsets.UTF_8)) {
            int code = signed & 0xff;
            boolean plain = code > ' ' && code < 0x7f && code != '=' && code != '%';
            text.append(plain ? String.valueOf((char) code) : String.format("%%%02X", code));
        }
        return text.toString();
    }

    private static String unescape(String value) {
        byte[] bytes = new byte[value.length()];
        int length = 0;
        for (int i = 0; i < value.length(); i++) {
            boolean isEscape = value.charAt(i) == '%';
            bytes[length++] = (byte) (isEscape
                    ? Integer.parseInt(value.substring(i + 1, i + 3), 16) : value.charAt(i));
            i += isEscape ? 2 : 0;
        }
        return new String(bytes, 0, length, StandardCharsets.UTF_8);
    }

    private static Map<String, String> parse(String line) {
        Map<String, String> axes = new HashMap<>();
        for (String word : line.trim().split(" +")) {
            int sign = word.indexOf('=');
            if (sign > 0) {
                axes.put(word.substring(0, sign), unescape(word.substring(sign + 1)));
            }
        }
        return axes;
    }

    // ---- Jobs -----------------------------------------------------------------------------------

    enum Engine { READ, PREAD, MMAP }

    enum Cache { AS_IS, WARM, COLD, DIRECT }

    enum Pattern { SEQUENTIAL, RANDOM, STRIDED }

    enum Touch { NONE, PAGE, SUM, COUNT }

    /** This peer does not support the job. */
    private static final class Unavailable extends Exception {
        private static final long serialVersionUID = 1;

        Unavailable(String reason) {
            super(reason);
        }
    }

    /** The work to do. */
    private static final class Job {
        final Engine engine;
        final Cache cache;
        final Pattern pattern;
        final Touch touch;
        final boolean isInterleaved;
        final long seed;
        final long stride;
        final long size;
        final int block;
        final int threads;
        final long ops;
        final long timeNs;
        final Path file;

        Job(Map<String, String> axes) throws Unavailable {
            for (String[] only : new String[][] {
                {"depth", "1"}, {"isa", "auto"}, {"advice", "none"}, {"submission", "enter"}}) {
                if (!axes.getOrDefault(only[0], only[1]).equals(only[1])) {
                    String value = axes.get(only[0]);
                    throw new Unavailable("this peer has no " + only[0] + " '" + value + "'");
                }
            }
            engine = choose(Engine.class, axes, "engine");
            cache = choose(Cache.class, axes, "cache");
            pattern = choose(Pattern.class, axes, "pattern");
            touch = choose(Touch.class, axes, "touch");
            isInterleaved = axes.get("share").equals("interleaved");
            seed = Long.parseUnsignedLong(axes.get("seed"));
            stride = number(axes, "stride");
            size = number(axes, "size");
            threads = Math.toIntExact(number(axes, "threads"));
            ops = number(axes, "ops");
            timeNs = number(axes, "time");
            file = Path.of(axes.get("file"));
            // Arrays and buffers are slightly smaller than 2 GiB.
            long bytes = number(axes, "block");
            if (bytes > Integer.MAX_VALUE - 4 * PAGE) {
                throw new Unavailable("a block of " + bytes + " bytes fits into no buffer of Java");
            }
            block = (int) bytes;
            if (cache == Cache.DIRECT && engine != Engine.PREAD) {
                throw new Unavailable("this peer has O_DIRECT for pread only");
            }
            if (touch == Touch.COUNT && block % 4 != 0) {
                throw new Unavailable("blocks of " + block + " bytes would cut integers in two");
            }
        }

        /** A job like `other` on a small file, for the warm-up. */
        Job(Job other, Path file, int size) {
            engine = other.engine;
            cache = other.cache;
            pattern = other.pattern;
            touch = other.touch;
            isInterleaved = other.isInterleaved;
            seed = other.seed;
            stride = other.stride;
            block = Math.min(other.block, WARM_BLOCK);
            this.size = size;
            threads = 1;
            ops = other.ops;
            timeNs = 100_000;
            this.file = file;
        }

        long blocks() {
            return (size - 1) / block + 1;
        }

        /** Steps of a pass, over all threads. */
        long steps() {
            return ops == 0 ? blocks() : Math.min(ops, blocks());
        }

        boolean repeats() {
            return cache != Cache.COLD && ops == 0;
        }
    }

    private static <E extends Enum<E>> E choose(
            Class<E> kind, Map<String, String> axes, String axis) throws Unavailable {
        String value = String.valueOf(axes.get(axis));
        for (E one : kind.getEnumConstants()) {
            if (one.name().toLowerCase().replace('_', '-').equals(value)) {
                return one;
            }
        }
        throw new Unavailable("this peer has no " + axis + " '" + value + "'");
    }

    private static final Map<String, Long> UNITS = Map.ofEntries(
            Map.entry("", 1L), Map.entry("B", 1L), Map.entry("KiB", 1L << 10),
            Map.entry("MiB", 1L << 20), Map.entry("GiB", 1L << 30), Map.entry("TiB", 1L << 40),
            Map.entry("ns", 1L), Map.entry("us", 1_000L), Map.entry("ms", 1_000_000L),
            Map.entry("s", 1_000_000_000L), Map.entry("m", 60_000_000_000L),
            Map.entry("h", 3_600_000_000_000L), Map.entry("day", 86_400_000_000_000L),
            Map.entry("month", 2_630_016_000_000_000L), Map.entry("year", 31_557_600_000_000_000L));

    /** The sum of the numbers in a value, each times its unit; larger values saturate. */
    private static long number(Map<String, String> axes, String axis) {
        BigInteger sum = BigInteger.ZERO;
        for (String part : axes.get(axis).split(" ")) {
            String unit = part.replaceFirst("^[0-9]+", "");
            BigInteger count = new BigInteger(part.substring(0, part.length() - unit.length()));
            boolean isPlural = unit.length() > 3 && unit.endsWith("s");
            Long times = UNITS.get(isPlural ? unit.substring(0, unit.length() - 1) : unit);
            sum = sum.add(count.multiply(BigInteger.valueOf(times)));
        }
        return sum.min(BigInteger.valueOf(Long.MAX_VALUE)).longValue();
    }

    // ---- The order of blocks --------------------------------------------------------------------

    private static final long GOLDEN = 0x9e3779b97f4a7c15L;

    private static long mix(long value) {
        value = (value ^ value >>> 30) * 0xbf58476d1ce4e5b9L;
        value = (value ^ value >>> 27) * 0x94d049bb133111ebL;
        return value ^ value >>> 31;
    }

    /** The steps of one thread, and the block at each. */
    private static final class Walk {
        final Pattern pattern;
        final long blocks;
        final long stride;
        final long first;
        final long step;
        final long count;
        final long mask;
        final int shift;
        final long key0;
        final long key1;
        final long key2;

        Walk(Job job, int thread) {
            pattern = job.pattern;
            blocks = job.blocks();
            stride = job.stride;
            long steps = job.steps();
            first = job.isInterleaved ? thread : border(steps, thread, job.threads);
            step = job.isInterleaved ? job.threads : 1;
            count = job.isInterleaved ? (steps + job.threads - 1 - thread) / job.threads
                    : border(steps, thread + 1, job.threads) - first;
            mask = Math.max(2, Long.highestOneBit(blocks - 1) << 1) - 1;
            shift = (Long.bitCount(mask) + 1) / 2;
            long state = mix(job.seed);
            key0 = mix(state + GOLDEN) | 1;
            key1 = mix(state + 2 * GOLDEN) | 1;
            key2 = mix(state + 3 * GOLDEN) | 1;
        }

        static long border(long steps, long thread, long threads) {
            BigInteger product = BigInteger.valueOf(steps).multiply(BigInteger.valueOf(thread));
            return product.divide(BigInteger.valueOf(threads)).longValue();
        }

        /** The thread's `index`-th block. */
        long block(long index) {
            long at = first + index * step;
            if (pattern == Pattern.RANDOM) {
                do {
                    at = round(round(round(at, key0), key1), key2);
                } while (at >= blocks);
                return at;
            }
            return pattern == Pattern.STRIDED ? strided(at) : at;
        }

        private long round(long at, long key) {
            at = at * key + (key >>> 32) & mask;
            return at ^ at >>> shift;
        }

        private long strided(long at) {
            // The first `longLanes` lanes have one more block than the others.
            long lane = blocks / stride;
            long longLanes = blocks % stride;
            long inLong = longLanes * (lane + 1);
            if (at < inLong) {
                return at / (lane + 1) + at % (lane + 1) * stride;
            }
            at -= inLong;
            return longLanes + at / lane + at % lane * stride;
        }
    }

    // ---- Work on the bytes ----------------------------------------------------------------------

    private static final VarHandle LONGS =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle INTS =
            MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    /** Bytes `from` to `to` within one word; the first is at `offset` in the file. */
    private static long part(ByteBuffer bytes, int from, int to, long offset) {
        long sum = 0;
        for (int i = from; i < to; i++) {
            sum += (bytes.get(i) & 0xffL) << 8 * (int) (offset + i - from & 7);
        }
        return sum;
    }

    /** The page sums, each combined with the position of its page in the file. */
    private static long sum(ByteBuffer bytes, int start, int length, long offset) {
        long sum = 0;
        for (int done = 0; done < length;) {
            long at = offset + done;
            int part = Math.min(length - done, PAGE - (int) (at % PAGE));
            sum += sumOfPage(bytes, start + done, part, at) * (at / PAGE * 2 + 1);
            done += part;
        }
        return sum;
    }

    private static long sumOfPage(ByteBuffer bytes, int start, int length, long offset) {
        int end = start + length;
        int head = start + Math.min(length, (int) (-offset & 7));
        int tail = head + (end - head & ~7);
        long sum = part(bytes, start, head, offset) + part(bytes, tail, end, 0);
        for (int i = head; i < tail; i += 8) {
            sum += bytes.getLong(i);
        }
        return sum;
    }

    private static long count(ByteBuffer bytes, int start, int length) {
        int end = start + (length & ~3);
        int tens = 0;
        for (int i = start; i < end; i += 4) {
            tens += bytes.getInt(i) == COUNTED ? 1 : 0;
        }
        return tens;
    }

    /** The result of the work on the bytes. For touched pages, it is an unused sum that prevents
     * the compiler from omitting the loads. */
    private static long look(Touch touch, ByteBuffer bytes, int start, int length, long offset) {
        switch (touch) {
            case SUM:
                return sum(bytes, start, length, offset);
            case COUNT:
                return count(bytes, start, length);
            case PAGE:
                int sum = 0;
                for (int i = 0; i < length; i += PAGE) {
                    sum += bytes.get(start + i);
                }
                return sum;
            default:
                return 0;
        }
    }

    private static long part(byte[] bytes, int from, int to, long offset) {
        long sum = 0;
        for (int i = from; i < to; i++) {
            sum += (bytes[i] & 0xffL) << 8 * (int) (offset + i - from & 7);
        }
        return sum;
    }

    private static long sum(byte[] bytes, int length, long offset) {
        long sum = 0;
        for (int done = 0; done < length;) {
            long at = offset + done;
            int part = Math.min(length - done, PAGE - (int) (at % PAGE));
            sum += sumOfPage(bytes, done, part, at) * (at / PAGE * 2 + 1);
            done += part;
        }
        return sum;
    }

    private static long sumOfPage(byte[] bytes, int start, int length, long offset) {
        int end = start + length;
        int head = start + Math.min(length, (int) (-offset & 7));
        int tail = head + (end - head & ~7);
        long sum = part(bytes, start, head, offset) + part(bytes, tail, end, 0);
        for (int i = head; i < tail; i += 8) {
            sum += (long) LONGS.get(bytes, i);
        }
        return sum;
    }

    private static long count(byte[] bytes, int length) {
        int end = length & ~3;
        int tens = 0;
        for (int i = 0; i < end; i += 4) {
            tens += (int) INTS.get(bytes, i) == COUNTED ? 1 : 0;
        }
        return tens;
    }

    private static long look(Touch touch, byte[] bytes, int length, long offset) {
        switch (touch) {
            case SUM:
                return sum(bytes, length, offset);
            case COUNT:
                return count(bytes, length);
            case PAGE:
                int sum = 0;
                for (int i = 0; i < length; i += PAGE) {
                    sum += bytes[i];
                }
                return sum;
            default:
                return 0;
        }
    }

    // ---- Engines --------------------------------------------------------------------------------

    /** Moves the blocks of one thread. */
    private abstract static class Source {
        final Job job;

        Source(Job job) {
            this.job = job;
        }

        /** Called before the first block of each pass. */
        void beginPass() throws IOException {
        }

        /** Reads the block at `offset` and returns the result of the work on it. */
        abstract long block(long offset, int length) throws IOException;

        abstract void close() throws IOException;

        IOException endedEarly(long offset, int length, int came) {
            return new IOException("the file ended: " + came + " of " + length
                    + " bytes at offset " + offset + " came");
        }
    }

    /** RandomAccessFile.read into an array; seeks only if the file is at another position. */
    private static final class ReadSource extends Source {
        private final RandomAccessFile file;
        private final byte[] bytes;
        private long position;

        ReadSource(Job job) throws IOException {
            super(job);
            file = new RandomAccessFile(job.file.toFile(), "r");
            bytes = new byte[job.block];
        }

        @Override
        long block(long offset, int length) throws IOException {
            if (position != offset) {
                file.seek(offset);
                position = offset;
            }
            int filled = 0;
            while (filled < length) {
                int came = file.read(bytes, filled, length - filled);
                if (came <= 0) {
                    throw endedEarly(offset, length, filled);
                }
                filled += came;
                position += came;
            }
            return look(job.touch, bytes, length, offset);
        }

        @Override
        void close() throws IOException {
            file.close();
        }
    }

    /** FileChannel.read at a position into a direct buffer. */
    private static final class PreadSource extends Source {
        private final FileChannel channel;
        private final ByteBuffer memory;
        private final ByteBuffer bytes;
        /** The same bytes in the class of a mapping, because the loops over bytes run at half speed
         * after meeting two buffer classes. */
        private final ByteBuffer view;

        PreadSource(Job job) throws IOException, Unavailable {
            super(job);
            channel = open(job);
            // An aligned slice starts and ends at a page boundary.
            memory = ByteBuffer.allocateDirect(job.block + 2 * PAGE);
            // Reads a whole block even at the end of the file, as O_DIRECT requires.
            bytes = memory.alignedSlice(PAGE).limit(job.block).slice();
            view = bytes.asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN);
        }

        /** The alignment for O_DIRECT; a page for an unnamed file, whose store is unknown. */
        private static long directAlign(Path file) throws IOException {
            try {
                return Files.getFileStore(file).getBlockSize();
            } catch (NoSuchFileException error) {
                return PAGE;
            }
        }

        private static FileChannel open(Job job) throws IOException, Unavailable {
            Set<OpenOption> options = new HashSet<>(List.of(StandardOpenOption.READ));
            if (job.cache == Cache.DIRECT) {
                long align = directAlign(job.file);
                if (job.block % align != 0 || align > PAGE) {
                    throw new Unavailable("O_DIRECT in Java needs blocks in multiples of " + align);
                }
                options.add(ExtendedOpenOption.DIRECT);
            }
            try {
                return FileChannel.open(job.file, options);
            } catch (UnsupportedOperationException error) {
                throw new Unavailable("opening with O_DIRECT: " + error.getMessage());
            } catch (IOException error) {
                String text = String.valueOf(error.getMessage());
                if (job.cache == Cache.DIRECT && text.endsWith("Invalid argument")) {
                    throw new Unavailable("opening with O_DIRECT: " + text);
                }
                throw error;
            }
        }

        @Override
        long block(long offset, int length) throws IOException {
            bytes.clear();
            int filled = 0;
            while (filled < length) {
                int came = channel.read(bytes, offset + filled);
                if (came <= 0) {
                    throw endedEarly(offset, length, filled);
                }
                filled += came;
            }
            return look(job.touch, view, 0, length, offset);
        }

        @Override
        void close() throws IOException {
            channel.close();
            Unmapper.free(memory);
        }
    }

    /** FileChannel.map. A buffer holds less than 2 GiB, so the file is mapped in several parts. */
    private static final class MapSource extends Source {
        private final FileChannel channel;
        private final long pieceBytes;
        private final ByteBuffer[] pieces;

        MapSource(Job job) throws IOException {
            super(job);
            channel = FileChannel.open(job.file, StandardOpenOption.READ);
            if (channel.size() < job.size) {
                throw new IOException("the file has " + channel.size() + " bytes, fewer than the "
                        + job.size + " to be read");
            }
            pieceBytes = Math.max(1, (1 << 30) / job.block) * (long) job.block;
            pieces = new ByteBuffer[Math.toIntExact((job.size - 1) / pieceBytes + 1)];
        }

        @Override
        void beginPass() throws IOException {
            unmap();
            for (int i = 0; i < pieces.length; i++) {
                long start = i * pieceBytes;
                long length = Math.min(pieceBytes, job.size - start);
                pieces[i] = channel.map(FileChannel.MapMode.READ_ONLY, start, length);
                pieces[i].order(ByteOrder.LITTLE_ENDIAN);
            }
        }

        @Override
        long block(long offset, int length) {
            int piece = pieces.length == 1 ? 0 : (int) (offset / pieceBytes);
            int start = (int) (offset - piece * pieceBytes);
            return look(job.touch, pieces[piece], start, length, offset);
        }

        private void unmap() {
            for (int i = 0; i < pieces.length; i++) {
                if (pieces[i] != null) {
                    Unmapper.free(pieces[i]);
                    pieces[i] = null;
                }
            }
        }

        @Override
        void close() throws IOException {
            unmap();
            channel.close();
        }
    }

    /** Unmaps unused mappings without waiting for the garbage collector, because mapped pages
     * cannot be evicted for the next trial. */
    private static final class Unmapper {
        private static final Object UNSAFE;
        private static final Method INVOKE_CLEANER;

        static {
            try {
                Class<?> kind = Class.forName("sun.misc.Unsafe");
                Field field = kind.getDeclaredField("theUnsafe");
                field.setAccessible(true);
                UNSAFE = field.get(null);
                INVOKE_CLEANER = kind.getMethod("invokeCleaner", ByteBuffer.class);
            } catch (ReflectiveOperationException error) {
                throw new ExceptionInInitializerError(error);
            }
        }

        static void free(ByteBuffer buffer) {
            try {
                INVOKE_CLEANER.invoke(UNSAFE, buffer);
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    private static Source open(Job job) throws IOException, Unavailable {
        switch (job.engine) {
            case READ:
                return new ReadSource(job);
            case PREAD:
                return new PreadSource(job);
            default:
                return new MapSource(job);
        }
    }

    // ---- The timed loop -------------------------------------------------------------------------

    /** Latencies: exact below 256 ns, then 128 buckets per power of two. */
    private static final int STEPS = 128;

    /** What one thread timed. */
    private static final class Span {
        long startNs;
        long endNs;
        long bytes;
        long ops;
        long digest;
        long loadNs;
        long maxNs;
        final long[] latencies = new long[58 * STEPS];

        void record(long ns) {
            int shift = ns < STEPS ? 0 : 63 - Long.numberOfLeadingZeros(ns) - 7;
            latencies[shift * STEPS + (int) (ns >>> shift)]++;
            maxNs = Math.max(maxNs, ns);
        }
    }

    private static void drive(Job job, Walk walk, Source source, Span span) throws IOException {
        boolean repeats = job.repeats();
        long now = System.nanoTime();
        span.startNs = now;
        long end = job.timeNs > Long.MAX_VALUE - now ? Long.MAX_VALUE : now + job.timeNs;
        long done;
        do {
            long began = now;
            source.beginPass();
            now = System.nanoTime();
            span.loadNs += job.engine == Engine.MMAP ? now - began : 0;
            for (done = 0; done < walk.count && (done == 0 || now < end); done++) {
                long offset = walk.block(done) * job.block;
                int length = (int) Math.min(job.block, job.size - offset);
                span.digest += source.block(offset, length);
                // One timestamp ends this operation and starts the next.
                long since = now;
                now = System.nanoTime();
                span.record(now - since);
                span.bytes += length;
            }
            span.ops += done;
        } while (repeats && done > 0 && done == walk.count && now < end);
        span.endNs = System.nanoTime();
    }

    // ---- The warm-up ----------------------------------------------------------------------------

    private static final int WARM_BLOCK = 64 << 10;
    private static final long ROUND_NS = 100_000_000;
    private static final int ROUNDS_MIN = 2;
    private static final int ROUNDS_MAX = 20;
    private static final Set<List<Object>> WARM = new HashSet<>();

    /** Runs the loop of `job` on a small separate file, in rounds until two of them are equally
     * fast. It runs once for each kind of job. */
    private static void warmUp(Job job) throws IOException, Unavailable {
        int block = Math.min(job.block, WARM_BLOCK);
        List<Object> kind = List.of(job.engine, job.cache, job.pattern, job.touch,
                job.isInterleaved, job.ops > 0, block < PAGE);
        if (!WARM.add(kind)) {
            return;
        }
        // Prefers memory, because writes to a disk would appear in the evidence.
        Path memory = Path.of("/dev/shm");
        Path file = Files.isWritable(memory) ? Files.createTempFile(memory, "ioassay-peer", null)
                : Files.createTempFile("ioassay-peer", null);
        file.toFile().deleteOnExit();
        try {
            // The last block is short, as in real jobs, except for direct I/O.
            int size = 32 * block - (job.cache == Cache.DIRECT ? 0 : block / 2);
            Files.write(file, new byte[size]);
            Job small = new Job(job, file, size);
            double before = 0;
            for (int round = 0; round < ROUNDS_MAX; round++) {
                double rate = warmRound(small);
                if (round >= ROUNDS_MIN && Math.abs(rate / before - 1) < 0.1) {
                    return;
                }
                before = rate;
            }
        } catch (Unavailable error) {
            // The job itself detects that when it opens its file.
        } finally {
            Files.delete(file);
        }
    }

    /** Operations per nanosecond in one round of many short runs. The runtime compiles methods that
     * are entered often as a whole, and not only their long loops. */
    private static double warmRound(Job small) throws IOException, Unavailable {
        Source source = open(small);
        Walk walk = new Walk(small, 0);
        Span span = new Span();
        long start = System.nanoTime();
        long now = start;
        while (now - start < ROUND_NS) {
            drive(small, walk, source, span);
            now = System.nanoTime();
        }
        source.close();
        return (double) span.ops / (now - start);
    }

    // ---- Threads --------------------------------------------------------------------------------

    /** One thread: prepares, waits, reads, and stays until it is dismissed, because the tool can
     * only inspect threads that still exist. */
    private static final class Member extends Thread {
        final Job job;
        final int number;
        final CyclicBarrier barrier;
        final AtomicBoolean go;
        final Span span = new Span();
        Throwable obstacle;

        Member(Job job, int number, CyclicBarrier barrier, AtomicBoolean go) {
            this.job = job;
            this.number = number;
            this.barrier = barrier;
            this.go = go;
            // The program must exit when its main thread ends.
            setDaemon(true);
        }

        @Override
        public void run() {
            Source source = null;
            Walk walk = new Walk(job, number);
            try {
                source = open(job);
            } catch (Throwable error) {
                obstacle = error;
            }
            await(barrier);
            await(barrier);
            try {
                if (go.get()) {
                    drive(job, walk, source, span);
                }
                if (source != null) {
                    source.close();
                }
            } catch (Throwable error) {
                obstacle = error;
            }
            await(barrier);
            await(barrier);
        }
    }

    private static void await(CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (Exception error) {
            throw new IllegalStateException("a thread of the team is gone", error);
        }
    }

    /** Runs a job and returns the next line. */
    private static String perform(Map<String, String> axes) throws IOException {
        long began = System.nanoTime();
        long warm;
        Job job;
        try {
            job = new Job(axes);
            long start = System.nanoTime();
            warmUp(job);
            warm = System.nanoTime() - start;
        } catch (Unavailable | IOException | RuntimeException error) {
            say(error);
            return nextLine();
        }
        CyclicBarrier barrier = new CyclicBarrier(job.threads + 1);
        AtomicBoolean go = new AtomicBoolean();
        List<Member> team = new ArrayList<>();
        for (int i = 0; i < job.threads; i++) {
            team.add(new Member(job, i, barrier, go));
        }
        team.forEach(Thread::start);
        await(barrier);
        long setup = System.nanoTime() - began;
        boolean isReady = allWell(team);
        if (isReady) {
            OUT.println("ready");
        }
        String line = nextLine();
        go.set(isReady && "go".equals(line));
        await(barrier);
        await(barrier);
        if (go.get()) {
            if (allWell(team)) {
                tell(team, setup, warm);
            }
            line = nextLine();
        }
        await(barrier);
        return line;
    }

    private static boolean allWell(List<Member> team) {
        for (Member member : team) {
            if (member.obstacle != null) {
                say(member.obstacle);
                return false;
            }
        }
        return true;
    }

    private static void say(Throwable obstacle) {
        boolean isUnavailable = obstacle instanceof Unavailable;
        boolean isPlain = isUnavailable || obstacle.getClass().equals(IOException.class);
        String reason = isPlain ? obstacle.getMessage() : obstacle.toString();
        OUT.println((isUnavailable ? "unavailable" : "failed") + " reason=" + escape("" + reason));
    }

    private static void tell(List<Member> team, long setup, long warm) {
        long[] latencies = new long[58 * STEPS];
        long maxNs = 0;
        for (Member member : team) {
            Span span = member.span;
            long digest = member.job.touch == Touch.PAGE ? 0 : span.digest;
            OUT.println("span thread=" + member.number + " start_ns=" + span.startNs
                    + " end_ns=" + span.endNs + " bytes=" + span.bytes + " ops=" + span.ops
                    + " digest=" + Long.toUnsignedString(digest) + " load_ns=" + span.loadNs);
            Arrays.setAll(latencies, i -> latencies[i] + span.latencies[i]);
            maxNs = Math.max(maxNs, span.maxNs);
        }
        for (int i = 0; i < latencies.length; i++) {
            // Buckets from index 256 are wider than 1 ns, so their middle is reported.
            int shift = i < 2 * STEPS ? 0 : i / STEPS - 1;
            long lowest = (long) (i - shift * STEPS) << shift;
            if (latencies[i] > 0) {
                long middle = lowest + ((1L << shift) - 1) / 2;
                OUT.println("latency ns=" + middle + " count=" + latencies[i]);
            }
        }
        OUT.println("done setup_ns=" + setup + " warm_up_ns=" + warm + " max_ns=" + maxNs);
    }
}
