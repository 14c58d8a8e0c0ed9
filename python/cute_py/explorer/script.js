
// The page is whole without this. It adds: cells that tell their facts, answers while one types, and a player for traces.
const form = document.querySelector("form");
const status = document.getElementById("status");
let asked = null;
let timer = null;

function link() {
  const panel = document.getElementById("facts");
  if (panel) linkPictures(document.getElementById("answer"), panel);
  const strip = document.querySelector(".strip");
  if (strip) {
    strip.addEventListener("click", event => {
      const box = strip.getBoundingClientRect();
      goTo(Math.floor((event.clientX - box.left) / box.width * Number(strip.dataset.steps)));
    });
  }
}

function range() {
  return form.querySelector("input[name=step]");
}

function goTo(step) {
  const slider = range();
  slider.value = Math.max(0, Math.min(Number(slider.max), step));
  return ask();
}

async function ask() {
  if (asked) asked.abort();
  asked = new AbortController();
  const url = form.getAttribute("action") + "?" + new URLSearchParams(new FormData(form));
  const late = setTimeout(() => { status.textContent = "computing ..."; }, 500);
  try {
    const response = await fetch(url, { signal: asked.signal });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const problem = page.querySelector(".error");
    document.querySelectorAll(".error").forEach(old => old.remove());
    document.getElementById("answer").classList.toggle("stale", problem !== null);
    if (problem) {  // while one types, what was there last stays
      form.after(problem);
      status.textContent = "";
      return false;
    }
    const chosen = document.querySelector("input[name=fact]:checked");
    document.getElementById("answer").replaceWith(page.getElementById("answer"));
    const again = chosen && [...document.querySelectorAll("input[name=fact]")].find(input => input.value === chosen.value);
    if (again) again.checked = true;
    history.replaceState(null, "", url);
    status.textContent = "";
    link();
    return true;
  } catch (error) {
    if (error.name !== "AbortError") status.textContent = "there was no answer; is cute-py explore still running?";
    return false;
  } finally {
    clearTimeout(late);
  }
}

// Another kernel, or another part of it, has another form.
function asksForAnotherForm(field) {
  return form.getAttribute("action") === "kernel" && ["name", "show", "warp"].includes(field.name);
}

form.addEventListener("change", event => {
  if (!asksForAnotherForm(event.target)) return;
  const query = new URLSearchParams(new FormData(form));
  query.delete("step");
  location.assign("kernel?" + query);
});
// A program is compiled and run, and a Config compiled, when one asks for it.
function waitsForShow(field) {
  return ["program", "config"].includes(form.getAttribute("action")) && field.name !== "step";
}

form.addEventListener("input", event => {
  if (asksForAnotherForm(event.target) || waitsForShow(event.target)) return;
  clearTimeout(timer);
  timer = setTimeout(ask, event.target.type === "text" ? 300 : 0);
});
form.addEventListener("submit", event => {
  event.preventDefault();
  clearTimeout(timer);
  history.pushState(null, "", location.href);
  ask();
});
window.addEventListener("popstate", () => location.reload());

if (range()) {
  const buttons = document.createElement("span");
  let playing = false;
  const add = (text, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.addEventListener("click", () => act(button));
    buttons.append(button, " ");
  };
  add("Back", () => goTo(Number(range().value) - 1));
  add("Step", () => goTo(Number(range().value) + 1));
  add("Play", async button => {
    playing = !playing;
    button.setAttribute("aria-pressed", String(playing));
    button.textContent = playing ? "Pause" : "Play";
    while (playing && Number(range().value) < Number(range().max)) {
      if (!await goTo(Number(range().value) + 1)) break;
      await new Promise(wake => setTimeout(wake, 400));
    }
    playing = false;
    button.setAttribute("aria-pressed", "false");
    button.textContent = "Play";
  });
  form.append(buttons);
}

link();
