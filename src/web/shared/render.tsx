import { type ComponentChild, render } from "preact"
import { withoutSlashes } from "../../domain/url.ts"

export const mount = (app: ComponentChild): void => {
  const root = document.getElementById("app")
  if (root === null) throw new Error("the page has no element with the id app")
  render(app, root)
}

const icon = (): string => document.querySelector<HTMLLinkElement>("link[rel=icon]")?.href ?? ""

export const Bar = ({ children, title }: { readonly title: string; readonly children?: ComponentChild }) => (
  <header class="bar">
    <a class="skip" href="#main">
      Skip to the content
    </a>
    <img src={icon()} alt="" />
    <h1>{title}</h1>
    {children}
  </header>
)

/** Base URL of the server; the page is at `<base>/console`. Browsers add a user and password of the address by themselves. */
export const baseUrl = (): string => {
  const { host, pathname, protocol } = new URL(".", document.baseURI)
  return withoutSlashes(`${protocol}//${host}${pathname}`)
}
