import { open } from "./discreet.js";
const release = await open("release.discreet");
document.getElementById("app").textContent = release.recommend({}, 10).map((one) => one.title).join(", ");
