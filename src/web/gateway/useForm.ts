import { useRef, useState } from "preact/hooks"
import { focusMistake } from "../shared/Field.tsx"

/** A message for each field with a mistake. */
export type Mistakes<Name extends string> = { readonly [Field in Name]?: string }

/** Sends a form once `check` finds no mistake in it; else its first field with a mistake takes the focus. */
export const useForm = <A, Name extends string>(
  check: () => { readonly value: A } | { readonly mistakes: Mistakes<Name> },
  send: (value: A) => void,
) => {
  const form = useRef<HTMLFormElement>(null)
  const [mistakes, setMistakes] = useState<Mistakes<Name>>({})
  const submit = (event: Event) => {
    event.preventDefault()
    const checked = check()
    setMistakes("mistakes" in checked ? checked.mistakes : {})
    if ("mistakes" in checked) focusMistake(form.current)
    else send(checked.value)
  }
  return { form, mistakes, submit }
}
