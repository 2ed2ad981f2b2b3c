/** Frames sealed for another place, and wrongly padded blocks. */
import { otherForm } from "../../lyingProxy/answer.ts"
import { b64u, block, bytes, type FramePlan, fromB64u, padme, text, u32 } from "../../lyingProxy/reference.ts"
import { type Case, refused } from "../Case.ts"

const sealing = (
  must: string,
  name: string,
  says: string,
  which: "first" | "final",
  change: (plan: FramePlan) => FramePlan,
): Case =>
  refused(must, `frame-${name}-${which}`, `seals its ${which} frame ${says}`, {
    frame: (plan) => ((which === "first" ? plan.index === 0 : plan.final) ? change(plan) : plan),
  })

const blockOf = ({ floor, payload }: FramePlan): Buffer => block(payload, floor)

type Row = readonly [must: string, name: string, says: string, change: (plan: FramePlan) => FramePlan]

const ROWS: ReadonlyArray<Row> = [
  ["C30", "other-place", "for the next place", (plan) => ({ ...plan, index: plan.index + 1 })],
  ["C30", "other-form", "for the other form", (plan) => ({ ...plan, form: otherForm(plan.form) })],
  ["C30", "other-finality", "for the other finality", (plan) => ({ ...plan, final: !plan.final })],
  ["C30", "other-request", "for another request", (plan) => ({ ...plan, requestHash: Buffer.alloc(32) })],
  [
    "C21",
    "padding",
    "with a byte of padding that is not zero",
    (plan) => {
      // A payload that fills its block has no padding to change, so a space is added.
      const room = blockOf(plan).length === plan.payload.length + 4
      const padded = block(room ? bytes(plan.payload, text(" ")) : plan.payload, plan.floor)
      return { ...plan, block: bytes(padded.subarray(0, -1), Buffer.of(1)) }
    },
  ],
  [
    "C21",
    "length",
    "with a length that points beyond the block",
    (plan) => ({ ...plan, block: bytes(u32(2 ** 24), blockOf(plan).subarray(4)) }),
  ],
  [
    "C21",
    "larger",
    "in a block larger than padding gives",
    (plan) => ({ ...plan, block: bytes(blockOf(plan), Buffer.alloc(padme(blockOf(plan).length * 2))) }),
  ],
  [
    "C21",
    "one-more",
    "in a block one byte larger than padding gives",
    (plan) => ({ ...plan, block: bytes(blockOf(plan), Buffer.alloc(1)) }),
  ],
  [
    "C21",
    "unpadded",
    "in a block without padding",
    (plan) => ({ ...plan, block: bytes(u32(plan.payload.length - 1), plan.payload.subarray(0, -1)) }),
  ],
  ["C21", "empty", "with an empty block", (plan) => ({ ...plan, block: Buffer.alloc(0) })],
  ["C21", "below-floor", "in a block of half the size", (plan) => ({ ...plan, block: halved(plan) })],
  [
    "C31",
    "no-json",
    "with a payload that is no JSON",
    (plan) => ({ ...plan, payload: Buffer.alloc(plan.payload.length, "x") }),
  ],
  ["C31", "array", "with a payload that is no object", (plan) => ({ ...plan, payload: asArray(plan.payload) })],
]

/** An array of the same length. */
const asArray = (payload: Buffer): Buffer => text("[]".padEnd(payload.length))

const halved = (plan: FramePlan): Buffer => blockOf(plan).subarray(0, blockOf(plan).length / 2)

const payloads = (name: string, says: string, first: object): Case =>
  refused("C31", `deltas-${name}`, says, { form: "stream", payloads: ([, ...more]) => [first, ...more] })

/** Changes the bytes of one frame on the wire. */
const onWire = (must: string, name: string, says: string, change: (frame: string) => string): ReadonlyArray<Case> =>
  (["first", "final"] as const).map((which) =>
    refused(must, `wire-${name}-${which}`, `${says} its ${which} frame`, {
      body: (body) => ({
        ...body,
        frames: body.frames.map((frame, index) => (index === (which === "first" ? 0 : 1) ? change(frame) : frame)),
      }),
      events: (events) => {
        const at = which === "first" ? 1 : events.length - 2
        return events.map(({ data, event }, index) =>
          index === at
            ? { event, data: { ...Object(data), ciphertext: change(String(Object(data).ciphertext)) } }
            : { event, data },
        )
      },
    }),
  )

const flipped = (place: (length: number) => number) => (frame: string) => {
  const sealed = fromB64u(frame)
  const at = place(sealed.length)
  sealed[at] = (sealed[at] ?? 0) ^ 1
  return b64u(sealed)
}

export const frames: ReadonlyArray<Case> = [
  ...ROWS.flatMap(([must, name, says, change]) =>
    (["first", "final"] as const).map((which) => sealing(must, name, says, which, change)),
  ),
  refused("C30", "frames-other-form", "seals all frames for the other form", {
    frame: (plan) => ({ ...plan, form: otherForm(plan.form) }),
  }),
  ...onWire(
    "C30",
    "bit",
    "changes a bit within",
    flipped((length) => length >> 1),
  ),
  ...onWire(
    "C30",
    "tag",
    "changes a bit of the tag of",
    flipped((length) => length - 1),
  ),
  ...onWire("C30", "shorter", "leaves the last byte out of", (frame) => b64u(fromB64u(frame).subarray(0, -1))),
  ...onWire("C30", "longer", "adds a byte to", (frame) => b64u(bytes(fromB64u(frame), Buffer.alloc(1)))),
  ...onWire("C30", "empty", "sends nothing for", () => ""),
  ...onWire("C1", "padded", "spells with padding", (text) => `${text}${"=".repeat((4 - (text.length % 4)) % 4 || 4)}`),
  ...onWire("C1", "plain", "puts a line feed into", (text) => `${text.slice(0, 8)}\n${text.slice(8)}`),
  payloads("missing", "says nothing in its first frame", {}),
  payloads("array", "has a first frame that is no object", []),
  payloads("object", "has deltas that are no array", { deltas: {} }),
  payloads("texts", "has deltas that are no chunks", { deltas: ["text"] }),
  payloads("null", "has a chunk that is null", { deltas: [null] }),
]
