import type { Bytes } from "../../../../domain/bytes/bytes.ts"
import type { NativeCall } from "../../Provider.ts"

/** The body of `call` with its model, its limit and the given members replaced, `omitted` left out, and one renamed. */
export const nativeBody = (
  { body, limit = {}, model }: NativeCall,
  values: Readonly<Record<string, string>> = {},
  omitted?: string,
  renamed?: readonly [from: string, to: string],
): Bytes =>
  body.with(
    {
      ...(body.value("model") === model ? {} : { model: JSON.stringify(model) }),
      ...Object.fromEntries(Object.entries(limit).map(([name, value]) => [name, String(value)])),
      ...values,
    },
    omitted,
    renamed,
  )
