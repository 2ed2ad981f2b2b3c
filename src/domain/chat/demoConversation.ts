/** Questions that the proxy's console offers to try, and the answers of the built-in echo, which has no model to ask. */
export const DEMO_CONVERSATION: Readonly<Record<string, string>> = {
  "What can an observer see of this question?":
    "That there was a request, its padded size, and when. Not the question: it was sealed in your browser for the key that " +
    "you pinned. The answer comes back in frames of one size, one every tenth of a second, so even its length says little.",
  "Who could read my prompt without sealing?":
    "Everyone who ends TLS on the way: the CDN, the load balancer, the API gateway, and whatever they log. Here they " +
    "pass on ciphertext. Only the process whose key you pinned opens it, and it signs what it did.",
  "How do I know that nobody altered this answer?":
    "Each frame is chained to the one before, and a signed proof covers the whole chain. Switch on the attacker and ask " +
    "again: the first altered frame is refused, and nothing after it is shown.",
}
