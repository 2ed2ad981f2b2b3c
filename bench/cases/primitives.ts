/** Cost of opening and sealing, beside the bare primitives they need. */
import type { Case } from "../harness/Case.ts"
import { compare } from "../harness/compare.ts"
import { startLoad } from "../harness/Load.ts"

const NAMES = [
  "open with X25519",
  "open with MLKEM768-X25519",
  "bare X25519 and AES-GCM",
  "seal a frame",
  "seal a frame after 50,000 others",
  "bare AES-GCM and two hashes",
]

export const primitives: Case = {
  name: "primitives",
  title: "Opening requests and sealing frames",
  unit: "50 calls",
  run: async (bench) => {
    const subjects = []
    for (const name of NAMES) {
      const load = await bench.use(startLoad("primitive", { name }))
      subjects.push({ subject: name, pid: load.pid, load })
    }
    const { measures, ratio } = await compare({ ...bench, seconds: bench.seconds / 4 }, 1, subjects)
    const opened = (name: string) => ratio(name, "bare X25519 and AES-GCM", "cpu")
    return {
      measures,
      figures: [
        { what: "open with X25519, to bare primitives", unit: "×", value: opened("open with X25519") },
        {
          what: "open with MLKEM768-X25519, to those of X25519",
          unit: "×",
          value: opened("open with MLKEM768-X25519"),
        },
        {
          what: "seal, to bare primitives",
          unit: "×",
          value: ratio("seal a frame", "bare AES-GCM and two hashes", "cpu"),
        },
        {
          what: "seal after 50,000 frames, to sealing at once",
          unit: "×",
          value: ratio("seal a frame after 50,000 others", "seal a frame", "cpu"),
          atMost: 1.2,
        },
      ],
    }
  },
}
