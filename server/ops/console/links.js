// Links between the views.
import { el } from "./dom.js";

export function pageAddress(url, crawlId) {
  return `#page?url=${encodeURIComponent(url)}${crawlId ? `&crawl_id=${encodeURIComponent(crawlId)}` : ""}`;
}
export const pageLink = (url, crawlId) => el("a", { href: pageAddress(url, crawlId), title: url }, url);
export const hostLink = host => el("a", { href: `#hosts?contains=${encodeURIComponent(host)}` }, host);
