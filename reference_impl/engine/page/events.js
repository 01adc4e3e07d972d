/* Calls take(object) for each server-sent event of a response, until it ends or [DONE] comes. */
export async function readEvents(response, take) {
  const reader = response.body.getReader(), decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const text = part.replace(/^data: /, "");
      if (text === "[DONE]") return;
      take(JSON.parse(text));
    }
  }
}

/* The sentence of an error in OpenAI's shape. */
export async function sentenceOf(response) {
  try {
    return (await response.json()).error.message;
  } catch {
    return `the server answered with status ${response.status}`;
  }
}
