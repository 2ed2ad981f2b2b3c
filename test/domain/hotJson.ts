/** Checks hostile JSON repeatedly, and prints texts that took too long. */
import { utf8 } from "../../src/domain/bytes/bytes.ts"
import { iJsonText } from "../../src/domain/json/iJson.ts"

const SIZE = 600_000
/** About a hundred times the normal duration, in milliseconds. */
const LONG_MS = 1500

// The compiler optimizes for the inputs it has seen: as in real use, mostly plain text and few escapes.
const TEXTS = {
  digits: `{"a":${"9".repeat(SIZE)}}`,
  members: `{${Array.from({ length: 30_000 }, (_, i) => `"k${i}":1`).join(",")}}`,
  string: `{"m":"${"A".repeat(SIZE)}"}`,
  escapes: `{"m":"${"\\u0041".repeat(SIZE / 6)}"}`,
  brackets: "[".repeat(30) + "]".repeat(30),
  list: `{"m":[${"1,".repeat(SIZE / 2)}1]}`,
}

for (let round = 0; round < 12; round++) {
  for (const [name, text] of Object.entries(TEXTS)) {
    const body = utf8(text)
    // Time of this thread: others may keep the processor busy.
    const before = process.threadCpuUsage()
    iJsonText(body)
    const took = process.threadCpuUsage(before).user / 1000
    if (took > LONG_MS) {
      console.log(`${name} took ${took.toFixed(0)} ms in round ${round}`)
      process.exit(0)
    }
  }
}
