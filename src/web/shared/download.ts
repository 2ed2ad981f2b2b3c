/** Lets the browser keep `text`, which is JSON, under `name`. */
export const download = (name: string, text: string): void => {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }))
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  // Not at once: the browser may begin to read it only after this.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
