/** The labels of a vendor's request: its `metadata`, as far as it has the form of labels. */
import { Option, Schema } from "effect"
import type { RawObject } from "../../../domain/json/rawObject.ts"
import { Labels, labelsOf } from "../../../domain/routing/labels.ts"

/** Longer metadata is not parsed for labels. */
const MAX_BYTES = 32 * 1024

const decode = Schema.decodeUnknownOption(Labels)

export const labelsIn = (body: RawObject): Labels =>
  Option.match(body.lengthOf("metadata") > MAX_BYTES ? Option.none() : decode(body.value("metadata")), {
    onNone: () => ({}),
    onSome: labelsOf,
  })
