import { useRef, useState } from "preact/hooks"
import { focusMistake } from "../shared/Field.tsx"
import type { Checked, Mistakes } from "./checkedForm.ts"

/** Sends a form once `check` finds no mistake in it; else its first field with a mistake takes the focus. */
export const useForm = <A, Name extends string>(check: () => Checked<A, Name>, send: (value: A) => void) => {
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
