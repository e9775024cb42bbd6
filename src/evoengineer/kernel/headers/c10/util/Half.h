#pragma once
#include "../../evo/torch.h"
#include "../../evo/half.h"
