import type { Words } from '../en.ts'

// 配置页的用词。

export const spec: Words['spec'] = {
  file: '作业文件',
  fileHelp: '服务器所理解的内容，密钥一律遮盖。',
  environment: '任务的环境变量',
  environmentHelp: '任务能读到的变量，包括找到其他任务所需的地址。',
  notPlaced: '还没有分配节点：<> 中的字样之后会换成地址和端口。',
  task: '任务',
  variable: '变量',
  value: '值',
  filter: '筛选变量',
  download: '下载',
  arguments: '附加在命令之后',
}
