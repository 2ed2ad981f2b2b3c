/** Cost of sealing a frame: the same at the start of a response and late in it. */
import type { Case } from "../harness/Case.ts"
import { compare } from "../harness/compare.ts"
import { startLoad } from "../harness/Load.ts"

const BEFORE = { "seal a frame": 0, "seal a frame after 50,000 others": 50_000 }

export const primitives: Case = {
  name: "primitives",
  title: "Sealing frames",
  unit: "50 calls",
  run: async (bench) => {
    const subjects = []
    for (const [subject, before] of Object.entries(BEFORE)) {
      const load = await bench.use(startLoad("primitive", { before }))
      subjects.push({ subject, pid: load.pid, load })
    }
    const { measures, ratio } = await compare({ ...bench, seconds: bench.seconds / 4 }, 1, subjects)
    const value = ratio("seal a frame after 50,000 others", "seal a frame", "cpu")
    return {
      measures,
      figures: [{ what: "seal after 50,000 frames, to sealing at once", unit: "×", value, atMost: 1.2 }],
    }
  },
}
